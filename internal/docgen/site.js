(function () {
  "use strict";
  document.documentElement.classList.add("js");
  var table = document.getElementById("table"), form = document.getElementById("filter"), text = document.getElementById("text");
  var count = document.getElementById("count"), none = document.getElementById("none"), selects = [].slice.call(form.querySelectorAll("select"));
  var cells = [].map.call(table.tBodies, function (b, i) {
    var row = b.rows[0];
    return { body: b, row: row, at: i, link: row.querySelector("th a"), text: [].map.call(row.cells, function (c) { return c.textContent; }).join(" ").toLowerCase() };
  });

  // Sorting. Cells of a column are numbers if they have data-n; what was not measured comes last in both directions.
  var heads = [].slice.call(table.tHead.rows[0].cells);
  function keyOf(c, column) {
    var td = c.row.cells[column], n = td.dataset.n;
    if (n !== undefined) { return n === "" ? null : +n; }
    return td.textContent === "" ? null : td.textContent;
  }
  function sort(column) {
    var down = heads[column].getAttribute("aria-sort") === "ascending" ? -1 : 1;
    heads.forEach(function (h, i) { h.setAttribute("aria-sort", i !== column ? "none" : down > 0 ? "ascending" : "descending"); });
    cells.forEach(function (c) { c.key = keyOf(c, column); });
    cells.sort(function (a, b) {
      if (a.key === null || b.key === null) { return a.key === b.key ? a.at - b.at : a.key === null ? 1 : -1; }
      return (a.key < b.key ? -down : a.key > b.key ? down : 0) || a.at - b.at;
    });
    table.append.apply(table, cells.map(function (c) { return c.body; }));
  }
  heads.forEach(function (h, i) {
    var b = document.createElement("button");
    b.type = "button"; b.textContent = h.textContent; b.addEventListener("click", function () { sort(i); });
    h.textContent = ""; h.appendChild(b); h.setAttribute("aria-sort", "none");
  });

  function filter() {
    var words = text.value.toLowerCase().split(/\s+/), shown = 0;
    cells.forEach(function (c) {
      var fits = words.every(function (w) { return c.text.indexOf(w) >= 0; }) && selects.every(function (s) { return s.value === "" || c.body.dataset[s.dataset.by] === s.value; });
      c.body.hidden = !fits;
      if (fits) { shown++; }
    });
    count.textContent = shown === cells.length ? cells.length + " cells" : shown + " of " + cells.length + " cells";
    none.hidden = shown > 0;
  }
  form.addEventListener("input", filter);
  form.addEventListener("submit", function (e) { e.preventDefault(); });
  function all() { form.reset(); filter(); }
  form.querySelector("button").addEventListener("click", all);
  form.hidden = false;

  // A cell opens by its link, which is then the address of the page.
  function show(c, open) {
    c.body.classList.toggle("open", open);
    c.link.setAttribute("aria-expanded", open);
  }
  cells.forEach(function (c) {
    show(c, false);
    c.link.addEventListener("click", function (e) {
      var open = !c.body.classList.contains("open");
      e.preventDefault();
      show(c, open);
      if (open) { history.replaceState(null, "", c.link.getAttribute("href")); }
    });
  });
  function goTo() {
    var to = cells.find(function (c) { return c.link.hash === location.hash; });
    if (!to) { return; }
    if (to.body.hidden) { all(); }
    show(to, true);
    to.body.scrollIntoView();
    to.link.focus({ preventScroll: true });
  }
  addEventListener("hashchange", goTo);
  filter(); // the browser may have kept a text
  goTo();
})();

(function () {
  "use strict";
  var form = document.getElementById("filter"), text = document.getElementById("text"), count = document.getElementById("count"), none = document.getElementById("none");
  var rows = [].map.call(document.querySelectorAll(".runs tbody tr"), function (tr) {
    return { tr: tr, text: [].map.call(tr.cells, function (c) { return c.textContent; }).join(" ").toLowerCase() };
  });
  var matrices = document.querySelectorAll(".matrix");
  function filter() {
    var phrases = text.value.toLowerCase().split(","), shown = 0;
    rows.forEach(function (r) {
      var fits = phrases.every(function (p) { return r.text.indexOf(p.trim()) >= 0; });
      r.tr.hidden = !fits;
      if (fits) { shown++; }
    });
    // A matrix shows its runs that fit.
    matrices.forEach(function (m) {
      var fit = m.querySelectorAll("tbody tr:not([hidden])").length;
      m.hidden = text.value.trim() !== "" && fit === 0;
      m.open = text.value.trim() !== "" && fit > 0;
    });
    count.textContent = shown === rows.length ? rows.length + (rows.length === 1 ? " run" : " runs") : shown + " of " + rows.length + " runs";
    none.hidden = shown > 0 || rows.length === 0;
  }
  form.addEventListener("input", filter);
  form.addEventListener("submit", function (e) { e.preventDefault(); });
  form.addEventListener("reset", function () { setTimeout(filter, 0); });
  form.hidden = false;
  // The page of locks links to #text=set-nx.
  text.value = new URLSearchParams(location.hash.slice(1)).get("text") || text.value;
  filter(); // the browser may have kept a text
})();

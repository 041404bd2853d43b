(function () {
  "use strict";
  var form = document.getElementById("filter"), text = document.getElementById("text"), count = document.getElementById("count"), none = document.getElementById("none");
  var choices = ["scenario", "world", "verdict", "outcome"].map(function (name) { return document.getElementById(name); });
  var rows = [].map.call(document.querySelectorAll("#runs tr"), function (tr) { return { tr: tr, text: tr.textContent.toLowerCase() }; });
  function filter() {
    var words = text.value.toLowerCase().split(/\s+/), shown = 0;
    rows.forEach(function (r) {
      var fits = words.every(function (w) { return r.text.indexOf(w) >= 0; }) && choices.every(function (c) {
        var has = r.tr.dataset[c.id];
        return !c.value || has === c.value || c.id === "verdict" && has.indexOf("|" + c.value + "|") >= 0;
      });
      r.tr.hidden = !fits;
      if (fits) { shown++; }
    });
    count.textContent = shown === rows.length ? rows.length + (rows.length === 1 ? " run" : " runs") : shown + " of " + rows.length + " runs";
    none.hidden = shown > 0 || rows.length === 0;
  }
  form.addEventListener("input", filter);
  form.addEventListener("submit", function (e) { e.preventDefault(); });
  form.addEventListener("reset", function () { setTimeout(filter, 0); });
  form.hidden = false;
  filter(); // a browser may have kept what was chosen before
})();

(function () {
  "use strict";
  var form = document.getElementById("filter"), text = document.getElementById("text"), count = document.getElementById("count"), none = document.getElementById("none");
  var choices = ["scenario", "world", "outcome"].map(function (name) { return document.getElementById(name); });
  var lock = document.getElementById("lock"), verdict = document.getElementById("verdict");
  var rows = [].map.call(document.querySelectorAll("#runs tr"), function (tr) { return { tr: tr, text: tr.textContent.toLowerCase() }; });
  function filter() {
    var words = text.value.toLowerCase().split(/\s+/), shown = 0;
    rows.forEach(function (r) {
      var fits = words.every(function (w) { return r.text.indexOf(w) >= 0; }) && choices.every(function (c) {
        return !c.value || r.tr.dataset[c.id] === c.value;
      });
      // Of a lock and a verdict: that very lock must have it.
      var of = r.tr.dataset.locks;
      fits = fits && (!lock.value || of.indexOf("|" + lock.value + "=" + (verdict.value ? verdict.value + "|" : "")) >= 0) &&
        (!verdict.value || of.indexOf("=" + verdict.value + "|") >= 0);
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
  // Another page may have asked for some of them: #lock=set-nx&world=sim
  new URLSearchParams(location.hash.slice(1)).forEach(function (value, name) {
    var c = document.getElementById(name);
    if (c && form.contains(c)) { c.value = value; }
  });
  filter(); // a browser may have kept what was chosen before
})();

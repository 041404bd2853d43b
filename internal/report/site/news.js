(function () {
  "use strict";
  var said = document.querySelector(".news"), first = null;
  var events = new EventSource("/~/news");
  events.addEventListener("news", function (e) {
    var now = JSON.parse(e.data);
    if (!first) { first = now; return; }
    if (now.runs === first.runs && now.live === first.live) { said.textContent = ""; return; }
    var more = now.runs - first.runs, b = document.createElement("button");
    b.type = "button"; b.textContent = "Show";
    b.addEventListener("click", function () { location.reload(); });
    said.textContent = (more > 0 ? more + (more === 1 ? " run has ended since. " : " runs have ended since. ") : "The folder has changed. ");
    said.appendChild(b);
  });
  addEventListener("pagehide", function () { events.close(); });
})();

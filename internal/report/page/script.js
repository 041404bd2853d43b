(function () {
  "use strict";
  // The page of a run in progress, as the server sent it last.
  var before = document.body.dataset.live && parse(document.documentElement.outerHTML);
  function parse(text) { return new DOMParser().parseFromString(text, "text/html"); }
  function button(text, label, act) {
    var b = document.createElement("button");
    b.type = "button"; b.textContent = text; b.setAttribute("aria-label", label); b.addEventListener("click", act);
    return b;
  }
  // each calls f with each element of a kind in a part of the page.
  function each(root, selector, f) {
    if (root.matches && root.matches(selector)) { f(root); }
    root.querySelectorAll(selector).forEach(f);
  }
  function command(c) {
    var code = c.querySelector("code");
    var b = button("Copy", "Copy the command", function () {
      var range = document.createRange(); range.selectNodeContents(code);
      var s = getSelection(); s.removeAllRanges(); s.addRange(range);
      if (navigator.clipboard) {
        navigator.clipboard.writeText(code.textContent).then(function () { b.textContent = "Copied"; }, function () { b.textContent = "Selected"; });
      } else { b.textContent = "Selected"; }
    });
    c.appendChild(b);
  }
  // A row of the table leads to a lock that may be folded.
  function unfold() {
    var to = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    var d = to && to.closest("details");
    if (d) { d.open = true; to.scrollIntoView(); }
  }
  addEventListener("hashchange", unfold); unfold();
  // The list of contents shows where one is, also where it has no room for all of its links.
  if (document.querySelector(".contents")) {
    var current = null;
    var here = function () {
      var now = null, contents = document.querySelector(".contents");
      contents.querySelectorAll("a").forEach(function (a) {
        var to = document.getElementById(decodeURIComponent(a.getAttribute("href").slice(1))), part = to && to.closest("details,section");
        if (part && part.getBoundingClientRect().top <= contents.getBoundingClientRect().bottom + 24) { now = a; }
      });
      if (now === current) { return; }
      if (current) { current.removeAttribute("aria-current"); }
      current = now;
      if (!now) { return; }
      now.setAttribute("aria-current", "true");
      contents.scrollLeft = now.offsetLeft - (contents.clientWidth - now.offsetWidth) / 2;
    };
    addEventListener("scroll", here, { passive: true }); here();
  }
  // Labels of an axis whose places are fixed: one that would lie over another is not shown.
  function thin(svg) {
    new ResizeObserver(function () {
      var free = 0, edge = svg.getBoundingClientRect();
      svg.querySelectorAll("text").forEach(function (s) {
        var at = s.getBoundingClientRect(), from = at.left - edge.left, shown = from >= free && at.right <= edge.right;
        s.style.visibility = shown ? "" : "hidden";
        if (shown) { free = at.right - edge.left + 6; }
      });
    }).observe(svg);
  }
  // Labels of bars: one for which its bar is too short, or that would lie over another of its lane, is not shown. The
  // tooltip of the bar has the same.
  function fit(svg) {
    var lanes = {};
    svg.querySelectorAll("text.on").forEach(function (s) {
      var bar = s.parentNode.previousElementSibling.getBoundingClientRect(), long = s.getComputedTextLength() + 8;
      var from = bar.left, to = Math.min(bar.right, from + long);
      var y = Math.floor((s.parentNode.getAttribute("y") - 22) / 26), lane = lanes[y] = lanes[y] || [];
      var shown = to - from >= Math.min(long, 60) && lane.every(function (other) { return to <= other[0] || from >= other[1]; });
      s.style.visibility = shown ? "" : "hidden";
      if (shown) { lane.push([from, to]); }
    });
  }
  function timeline(t) {
    var scroll = t.querySelector(".scroll"), svg = t.querySelector("svg.time"), detail = t.querySelector(".detail");
    var level = 1, levelMax = 64, from = +t.dataset.from, to = +t.dataset.to;
    var ticks = svg.querySelectorAll(".tick");
    function axis() {
      // Finer ticks as one comes closer: the ones that are there are kept and moved.
      var length = (to - from) / level, step = 1000;
      outer: for (;; step *= 10) { for (var m of [1, 2, 5]) { if (length / (step * m) < Math.max(2, scroll.clientWidth / 90)) { step *= m; break outer; } } }
      ticks.forEach(function (g) { g.remove(); });
      ticks = [];
      var places = Math.max(3, 9 - Math.floor(Math.log10(step) + 1e-9));
      for (var at = Math.ceil(from / step) * step; at <= to; at += step) {
        var g = document.createElementNS("http://www.w3.org/2000/svg", "g"), x = (100 * (at - from) / (to - from)) + "%";
        g.setAttribute("class", "tick");
        var l = document.createElementNS("http://www.w3.org/2000/svg", "line"), s = document.createElementNS("http://www.w3.org/2000/svg", "text");
        l.setAttribute("x1", x); l.setAttribute("x2", x); l.setAttribute("y1", 16); l.setAttribute("y2", svg.getAttribute("height"));
        s.setAttribute("x", x); s.setAttribute("y", 12); s.setAttribute("dx", 3); s.textContent = (at / 1e9).toFixed(places) + " s";
        g.appendChild(l); g.appendChild(s); svg.insertBefore(g, svg.querySelector(".b")); ticks.push(g);
        var end = (at - from) / (to - from) * scroll.clientWidth * level + 3 + s.getComputedTextLength();
        if (end > scroll.clientWidth * level) { s.remove(); } // the edge would cut it
      }
      fit(svg);
    }
    function zoom(by, at) {
      var next = Math.min(levelMax, Math.max(1, level * by));
      if (next === level) { return; }
      var width = scroll.clientWidth, share = (scroll.scrollLeft + at * width) / (width * level);
      level = next; svg.style.width = (100 * level) + "%"; axis();
      scroll.scrollLeft = share * width * level - at * width;
    }
    // How many ticks there is room for changes with the window, and is known only here.
    new ResizeObserver(axis).observe(scroll);
    var bar = document.createElement("div");
    bar.className = "zoom";
    var mark = svg.querySelector(".mark");
    bar.appendChild(button("−", "Zoom out", function () { zoom(0.5, 0.5); }));
    bar.appendChild(button("+", "Zoom in", function () { zoom(2, 0.5); }));
    if (mark) {
      bar.appendChild(button("To the overlap", "To the overlap: the moment from which both hold", function () {
        zoom(64, 0.5); zoom(0.125, 0.5);
        scroll.scrollLeft = parseFloat(mark.getAttribute("x1")) / 100 * scroll.clientWidth * level - scroll.clientWidth / 2;
      }));
    }
    bar.appendChild(button("All", "All: the whole stretch", function () { zoom(1 / level, 0.5); }));
    t.insertBefore(bar, t.firstChild);
    scroll.addEventListener("wheel", function (e) {
      if (!e.ctrlKey) { return; }
      e.preventDefault();
      zoom(e.deltaY < 0 ? 1.5 : 1 / 1.5, (e.clientX - scroll.getBoundingClientRect().left) / scroll.clientWidth);
    }, { passive: false });
    // The tooltip of a bar, below the drawing, where it can be read and copied.
    function tell(e) {
      var title = e.target.classList && e.target.classList.contains("b") && e.target.querySelector("title");
      if (title) { detail.textContent = title.textContent; }
    }
    svg.addEventListener("mouseover", tell); svg.addEventListener("click", tell);
  }
  function setUp(root) { each(root, ".command", command); each(root, "svg.thin", thin); each(root, ".timeline", timeline); }
  setUp(document.body);
  if (!before) { return; }
  // The page of a run in progress is fetched again and again, and the parts that changed are replaced.
  function silent(is) { document.getElementById("silent").hidden = !is; setTimeout(again, 1000); }
  function update(live, was, is) {
    if (was.isEqualNode(is)) { return; }
    if (was.tagName === is.tagName && is.childElementCount && was.childElementCount === is.childElementCount && is.matches("main,header,section,details,.told")) {
      [].slice.call(is.children).forEach(function (child, i) { update(live.children[i], was.children[i], child); });
      return;
    }
    var fresh = document.importNode(is, true);
    live.replaceWith(fresh); setUp(fresh);
  }
  function again() {
    fetch(location.href, { cache: "no-store" }).then(function (r) { return r.text(); }).then(function (text) {
      var now = parse(text);
      if (!now.body.dataset.live) { location.reload(); return; }
      ["header", ".contents", "main"].forEach(function (part) {
        update(document.querySelector(part), before.querySelector(part), now.querySelector(part));
      });
      before = now;
      silent(false);
    }, function () { silent(true); });
  }
  setTimeout(again, 1000);
})();

(function () {
  "use strict";
  var facts = document.getElementById("facts"), rows = document.getElementById("rows"), steps = document.getElementById("steps"), parts = document.getElementById("parts");
  var news = document.getElementById("news"), outcome = document.getElementById("outcome"), drawing = document.getElementById("drawing"), drawnName = document.getElementById("drawn");
  var ns = "http://www.w3.org/2000/svg", events = null, chosen = "", byLock = {};
  function make(name, attrs, text) {
    var e = document.createElementNS(ns, name);
    for (var a in attrs) { e.setAttribute(a, attrs[a]); }
    if (text !== undefined) { e.textContent = text; }
    return e;
  }
  function cell(tr, title, cls) {
    var td = document.createElement("td");
    if (title) { td.dataset.title = title; }
    if (cls) { td.className = cls; }
    tr.appendChild(td);
    return td;
  }
  // Only what has changed is written: a screen reader and a selection stay where they are.
  function say(e, text) { if (e.textContent !== text) { e.textContent = text; } }
  function number(n) { return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ","); }
  function row(l) {
    var r = byLock[l.id];
    if (r) { return r; }
    var tr = document.createElement("tr"), name = cell(tr, "", "name"), b = document.createElement("button");
    b.type = "button"; b.textContent = l.name; b.title = "Draw who holds it";
    b.addEventListener("click", function () { chosen = l.id; follow(); });
    name.appendChild(b);
    r = byLock[l.id] = { tr: tr, servers: cell(tr, "servers"), at: cell(tr, "stands at"), found: cell(tr, "found so far"), grants: cell(tr, "grants", "right"), rate: cell(tr, "grants/s", "right"), refused: cell(tr, "refused", "right"), unknown: cell(tr, "unknown", "right"), chart: cell(tr, "over the run") };
    r.phase = document.createElement("span"); r.phase.className = "phase"; r.at.appendChild(r.phase);
    r.force = document.createElement("span"); r.force.className = "force"; r.at.appendChild(r.force);
    r.badge = document.createElement("span"); r.found.appendChild(r.badge);
    r.svg = make("svg", { "class": "chart", height: 34, viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": "Grants over the run" }); r.chart.appendChild(r.svg);
    rows.appendChild(tr);
    return r;
  }
  function chart(svg, l, length) {
    var most = Math.max.apply(null, l.bins.length ? l.bins : [1]) || 1, points = "0,100";
    svg.textContent = "";
    l.bands.forEach(function (b) {
      var to = b.to > 0 ? b.to : l.length, band = make("rect", { "class": "band strong", x: 100 * b.from / length, y: 0, width: Math.max(0.4, 100 * (to - b.from) / length), height: 100 });
      band.appendChild(make("title", {}, b.text)); svg.appendChild(band);
    });
    l.bins.forEach(function (n, i) {
      var y = 100 - 96 * n / most;
      points += " " + (100 * i * l.bin / length).toFixed(2) + "," + y.toFixed(1) + " " + (100 * Math.min(length, (i + 1) * l.bin) / length).toFixed(2) + "," + y.toFixed(1);
    });
    if (l.bins.length) { svg.appendChild(make("polygon", { "class": "area", points: points + " " + (100 * Math.min(length, l.bins.length * l.bin) / length).toFixed(2) + ",100" })); }
  }
  function draw(d, name) {
    var high = 22, left = 84, width = Math.max(560, drawing.parentElement.clientWidth), x = function (t) { return left + (width - left - 8) * (t - d.from) / (d.to - d.from); };
    say(drawnName, name);
    drawing.setAttribute("aria-label", "Who holds which key of " + name + ", " + d.from.toFixed(1) + " s to " + d.to.toFixed(1) + " s of the run");
    drawing.textContent = "";
    drawing.setAttribute("height", Math.max(1, d.clients.length) * high + 28);
    drawing.setAttribute("width", width);
    d.bands.forEach(function (b) {
      var from = Math.max(d.from, b.from), to = b.to > 0 ? b.to : d.to;
      var band = make("rect", { "class": "b fault", x: x(from), y: 0, width: Math.max(2, x(to) - x(from)), height: d.clients.length * high, "fill-opacity": 0.5, stroke: "none" });
      band.appendChild(make("title", {}, b.text)); drawing.appendChild(band);
    });
    d.clients.forEach(function (c, i) {
      drawing.appendChild(make("line", { "class": "row", x1: 0, x2: width, y1: (i + 1) * high, y2: (i + 1) * high }));
      drawing.appendChild(make("text", { x: left - 8, y: i * high + 15, "text-anchor": "end" }, c));
    });
    var meets = [], last = {}, ends = {}; // by key; holds are in the order of their beginnings
    d.holds.forEach(function (h, i) {
      var before = last["=" + h.key], end = ends["=" + h.key];
      meets[i] = before !== undefined && h.from < end;
      if (before !== undefined && h.from < d.holds[before].to) { meets[before] = true; }
      last["=" + h.key] = i;
      ends["=" + h.key] = before === undefined ? h.to : Math.max(end, h.to);
    });
    d.holds.forEach(function (h, i) {
      var bar = make("rect", { "class": "b " + (meets[i] ? "overlap" : "hold"), x: x(h.from), y: h.row * high + 4, width: Math.max(1.5, x(h.to) - x(h.from)), height: high - 8 });
      bar.appendChild(make("title", {}, d.clients[h.row] + " holds " + h.key + " from " + h.from.toFixed(3) + " s to " + h.to.toFixed(3) + " s"));
      drawing.appendChild(bar);
    });
    for (var t = Math.ceil(d.from); t <= d.to; t += width < 700 ? 4 : 2) { if (x(t) > width - 30) { break; }
      drawing.appendChild(make("text", { x: x(t), y: d.clients.length * high + 18 }, t + " s")); }
  }
  function state(e) {
    var s = JSON.parse(e.data);
    say(facts, s.facts.concat([s.at.toFixed(0) + " s so far", s.locks.length + (s.locks.length === 1 ? " lock has begun" : " locks have begun")]).join(" · "));
    s.locks.forEach(function (l) {
      var r = row(l);
      say(r.servers, l.servers); say(r.phase, s.over ? "over" : l.phase); say(r.force, l.force.join("; "));
      say(r.badge, l.found || "nothing"); r.badge.className = l.found ? "badge verdict-" + l.look : "hint";
      say(r.grants, number(l.grants)); say(r.rate, number(l.rate)); say(r.refused, number(l.refused)); say(r.unknown, number(l.unknown));
      r.tr.setAttribute("aria-selected", String(!!s.drawn && s.drawn.lock === l.id));
      chart(r.svg, l, Math.max(s.at, 1));
      if (s.drawn && s.drawn.lock === l.id) { draw(s.drawn, l.name); }
    });
    s.plan.forEach(function (p, i) {
      var tr = steps.children[i];
      if (!tr) {
        tr = document.createElement("tr");
        cell(tr, "episode", "right"); cell(tr, "", "step"); cell(tr, "stands at"); cell(tr, "in force for");
        steps.appendChild(tr);
      }
      say(tr.children[0], String(p.episode)); say(tr.children[1], p.text); say(tr.children[2], p.state); say(tr.children[3], p.where.join(", ") || "–");
      tr.children[2].className = p.where.length ? "going" : "";
    });
    if (s.over) { end(s.over); }
  }
  function part(e) {
    var p = JSON.parse(e.data), box = document.getElementById("part-" + p.id);
    if (!box) { box = document.createElement("div"); box.id = "part-" + p.id; parts.appendChild(box); }
    box.innerHTML = p.html; // made by the server's templates, as the report is
  }
  function end(how) {
    events.close();
    say(outcome, how === "ended" ? "ended" : "ended without a result");
    news.textContent = how === "ended" ? "The run has ended. " : "Nobody is at work on this run any more. What it has recorded can be judged with lockbench report.";
    if (how === "ended") {
      var a = document.createElement("a"); a.href = facts.dataset.report; a.textContent = "Its report"; news.appendChild(a);
    }
  }
  function follow() {
    if (events) { events.close(); }
    events = new EventSource(facts.dataset.events + (chosen ? "?draw=" + encodeURIComponent(chosen) : ""));
    events.addEventListener("state", state); events.addEventListener("part", part);
    events.onerror = function () { news.textContent = "lockbench serve does not answer; trying again."; };
    events.onopen = function () { news.textContent = ""; };
  }
  addEventListener("pagehide", function () { events.close(); });
  follow();
})();

// Shows changes as they are published, and moves by keys. Without it the page is complete, and not live.
"use strict";

const UNITS = [[60, "s"], [60, "min"], [24, "h"], [Infinity, "d"]];

function ago(ms) {
  let amount = Math.max(0, Date.now() - ms) / 1000;
  for (const [step, unit] of UNITS) {
    if (amount < step) return unit === "s" && amount < 10 ? "just now" : `${Math.floor(amount)} ${unit} ago`;
    amount /= step;
  }
}

function tick() {
  for (const each of document.querySelectorAll("[data-ms]")) {
    if (each.dataset.ms) each.textContent = ago(Number(each.dataset.ms));
  }
}

// Exchanges the parts of the page that have changed; the focus and the places scrolled to stay.
async function refresh() {
  const answer = await fetch(location.href, { credentials: "same-origin" });
  if (answer.status === 401) return location.reload();
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const parts = document.querySelectorAll("[data-part]"), names = new Set();
  const isSame = fresh.querySelectorAll("[data-part]").length === parts.length;
  for (const part of parts) {
    const other = fresh.querySelector(`[data-part="${part.dataset.part}"]`);
    if (!other || !isSame) { document.querySelector("main").replaceChildren(...fresh.querySelector("main").children); break; }
    if (plain(part) !== plain(other)) names.add([part, other]);
  }
  for (const [part, other] of names) exchange(part, other);
  tick();
  show();
}

// What a part says, without the ages, which differ all the time.
function plain(part) {
  const copy = part.cloneNode(true);
  for (const each of copy.querySelectorAll("[data-ms], [data-doing]")) each.textContent = "";
  for (const each of copy.querySelectorAll("details")) each.removeAttribute("open");
  return copy.innerHTML;
}

// What is lit for a moment if it says something new.
const NOTICED = "a.node, tbody tr, .finding, .fine, .actions > li, .facts";

function exchange(part, other) {
  const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
  const places = [...part.querySelectorAll(".scroll")].map((each) => [each.id, each.scrollLeft, each.scrollTop]);
  const open = [...part.querySelectorAll("details[open]")].map((each) => each.id);
  const before = new Set([...part.querySelectorAll(NOTICED)].map(plain));
  part.replaceChildren(...other.childNodes);
  for (const each of part.querySelectorAll(NOTICED)) if (!before.has(plain(each))) each.classList.add("changed");
  for (const [id, left, top] of places) document.getElementById(id)?.scrollTo(left, top);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

// What is being done to tables now, by table.
let doing = null;

function show() {
  if (!doing) return;
  for (const each of document.querySelectorAll("[data-doing]")) {
    const text = doing[each.dataset.doing] ?? "", most = Number(each.dataset.most ?? 200);
    const shown = text.length > most ? `${text.slice(0, most - 1)}…` : text;
    if (each.textContent !== shown) each.textContent = shown;
  }
}

let stream = null, version = document.body.dataset.version, busy = false, again = false;

async function changed() {
  again = true;
  if (busy) return;
  busy = true;
  while (again) {
    again = false;
    await refresh().catch(() => {});
  }
  busy = false;
}

function live(text) {
  document.getElementById("live-text").textContent = text;
  document.getElementById("live").dataset.state = text;
}

function follow() {
  stream = new EventSource("/live");
  stream.onopen = () => live("live");
  stream.onerror = () => live("reconnecting");
  stream.addEventListener("phase", (event) => { doing = JSON.parse(event.data); show(); });
  stream.addEventListener(document.body.dataset.follows, (event) => {
    live("live");
    if (event.data !== version) { version = event.data; changed(); }
  });
}

// A hidden tab keeps no connection: a browser has six for a server.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { stream?.close(); stream = null; } else if (!stream) follow();
});
window.addEventListener("pagehide", () => { stream?.close(); stream = null; });
window.addEventListener("pageshow", () => { if (!stream && !document.hidden) follow(); });

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function nearest(from, [x, y]) {
  const at = from.getBoundingClientRect();
  let best = null, least = Infinity;
  for (const each of document.querySelectorAll("a.node")) {
    const to = each.getBoundingClientRect();
    const right = to.x - at.x, down = to.y - at.y;
    const along = right * x + down * y, beside = Math.abs(right * y) + Math.abs(down * x);
    if (along > 1 && along + 2 * beside < least) { best = each; least = along + 2 * beside; }
  }
  return best;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = document.activeElement;
  if (at?.matches("input, textarea, select")) { if (event.key === "Escape" && !event.defaultPrevented) at.blur(); return; }
  if (event.key === "/" && document.getElementById("show")) {
    event.preventDefault();
    document.getElementById("show").select();
  } else if (event.key === "g") {
    location.assign("/");
  } else if (DIRECTIONS[event.key] && (at?.matches("a.node") || at?.id === "graph-scroll")) {
    const next = at.matches("a.node") ? nearest(at, DIRECTIONS[event.key]) : document.querySelector("a.node");
    if (next) { event.preventDefault(); next.focus(); next.scrollIntoView({ block: "nearest", inline: "nearest" }); }
  }
});

setInterval(tick, 5000);

// Runs queries without leaving the page, and suggests tables and columns. Without it the page is complete.
"use strict";

{
const form = document.getElementById("query"), text = document.getElementById("sql");
const state = document.getElementById("state"), list = document.getElementById("suggest");
const stop = document.getElementById("cancel");
let begun = 0, file = false;

// ---- running

function busy(what) {
  begun = Date.now();
  stop.hidden = false;
  for (const each of document.querySelectorAll("#run, [data-file]")) each.disabled = true;
  state.textContent = what;
  const clock = setInterval(() => { state.textContent = `${what} ${Math.round((Date.now() - begun) / 1000)} s`; }, 1000);
  return (said) => {
    clearInterval(clock);
    begun = 0;
    stop.hidden = true;
    for (const each of document.querySelectorAll("#run, [data-file]")) each.disabled = false;
    state.textContent = said;
  };
}

function show(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("answer");
  if (!fresh) return location.reload();
  const answer = document.getElementById("answer");
  answer.replaceWith(fresh);
  form.elements.number.value = fresh.dataset.number;
  mark(fresh.querySelector("[data-line]"));
  // A choice draws at once.
  for (const each of fresh.querySelectorAll("#chart button")) each.hidden = true;
  return fresh;
}

// Selects the line that an error names.
function mark(place) {
  if (!place) return;
  const lines = text.value.split("\n"), at = Number(place.dataset.line) - 1;
  const begin = lines.slice(0, at).join("\n").length + (at ? 1 : 0);
  text.focus({ preventScroll: true });
  text.setSelectionRange(begin, begin + lines[at].length);
}

async function run(path, isFile) {
  if (begun) return;
  const body = new URLSearchParams(new FormData(form)), done = busy(isFile ? "writing the file ..." : "running ...");
  file = isFile;
  try {
    const answer = await fetch(path, { method: "POST", body });
    if (answer.status === 401) return location.reload();
    const kind = answer.headers.get("content-disposition");
    if (kind) {
      const rows = Number(answer.headers.get("x-rows")).toLocaleString("en");
      keep(await answer.blob(), /filename="([^"]+)"/.exec(kind)[1]);
      return done(answer.headers.get("x-is-cut") === "true" ? `the first ${rows} rows were written` : `${rows} rows were written`);
    }
    const fresh = show(await answer.text());
    const failed = fresh?.querySelector(".finding.error p");
    done(failed ? "failed" : "");
    if (!failed) share();
  } catch (error) {
    done("the page's server does not answer");
  }
}

function keep(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// The address leads others to the query, which does not run by itself.
function share() {
  const given = new URLSearchParams({ sql: text.value });
  if (form.elements.as_of.value) given.set("as_of", form.elements.as_of.value);
  const path = `/query?${given}`;
  if (path.length < 8000) history.replaceState(null, "", path);
}

function cancel() {
  const body = new URLSearchParams({ number: form.elements.number.value });
  state.textContent = "cancelling ...";
  return fetch("/query/cancel", { method: "POST", body, keepalive: true });
}

form.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (button?.hasAttribute("data-plain")) return;
  event.preventDefault();
  close();
  const isFile = button?.hasAttribute("data-file") ?? false;
  run(isFile ? button.getAttribute("formaction") : "/query", isFile);
});
stop.addEventListener("click", cancel);
window.addEventListener("pagehide", () => { if (begun) cancel(); });

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-view]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  view(link.href);
});
document.addEventListener("submit", (event) => {
  if (event.target.id !== "chart") return;
  event.preventDefault();
  view(`/query?${new URLSearchParams(new FormData(event.target))}`);
});
document.addEventListener("change", (event) => {
  if (event.target.closest("#chart")) event.target.form.requestSubmit();
});

async function view(path) {
  const focused = document.activeElement?.name;
  const answer = await fetch(path);
  const fresh = show(await answer.text());
  if (focused) fresh?.querySelector(`#chart [name="${focused}"]`)?.focus();
  else fresh?.querySelector("[data-view][aria-current]")?.focus();
}

// ---- suggestions

const WORDS = ("SELECT FROM WHERE GROUP BY ORDER BY HAVING LIMIT JOIN LEFT JOIN ON AS AND OR NOT NULL IS IN LIKE BETWEEN CASE " +
  "WHEN THEN ELSE END DISTINCT UNION ALL WITH OVER PARTITION BY DESC").split(/ (?!BY|JOIN)/);
const TABLES = new Map([...document.querySelectorAll("[data-table]")].map((each) => [
  each.dataset.table, [...each.querySelectorAll("[data-column]")].map((one) => ({ word: one.dataset.column, note: one.querySelector(".type").textContent })),
]));
let found = [], chosen = -1, from = 0;

function plain(word) {
  return /^[A-Za-z_]\w*$/.test(word) ? word : "`" + word.replaceAll("`", "``") + "`";
}

// The tables that the query names, by their names and aliases.
function named(sql) {
  const known = new Map();
  for (const [, name, alias] of sql.matchAll(/\b(\w+\.\w+)(?:\s+(?:as\s+)?([a-z_]\w*))?/gi)) {
    const columns = TABLES.get(name.toLowerCase());
    if (!columns) continue;
    known.set(name.toLowerCase(), columns);
    known.set(name.split(".")[1].toLowerCase(), columns);
    if (alias) known.set(alias.toLowerCase(), columns);
  }
  return known;
}

function candidates(before, after) {
  const [, owner, begin] = /((?:\w+\.)*)(\w*)$/.exec(before), known = named(before + after);
  const path = owner.slice(0, -1).toLowerCase();
  from = before.length - begin.length;
  if (path) {
    const tables = [...TABLES.keys()].filter((each) => each.startsWith(path + ".")).map((each) => ({ word: each.slice(path.length + 1), note: "table" }));
    return [begin, [...tables, ...(known.get(path) ?? [])]];
  }
  const columns = new Map([...known.values()].flat().map((each) => [each.word, each]));
  const tables = [...TABLES.keys()].map((each) => ({ word: each, note: "table", isTable: true }));
  const wantsTable = /\b(from|join)\s+$/i.test(before.slice(0, from));
  const words = WORDS.map((each) => ({ word: each, note: "", isWord: true }));
  return [begin, wantsTable ? tables : [...columns.values(), ...tables, ...words]];
}

function suggest(asked) {
  const before = text.value.slice(0, text.selectionStart);
  const [begin, every] = candidates(before, text.value.slice(text.selectionStart));
  const quiet = !begin && !/\w\.$/.test(before) && !/\b(from|join)\s+$/i.test(before);
  const small = begin.toLowerCase();
  const fits = (each) => each.word.toLowerCase().startsWith(small) || (each.isTable && each.word.split(".")[1].toLowerCase().startsWith(small));
  found = quiet && !asked ? [] : every.filter(fits).slice(0, 40);
  if (found.length === 1 && found[0].word.toLowerCase() === small) found = [];
  if (!found.length) return close();
  chosen = 0;
  list.replaceChildren(...found.map((each, at) => {
    const item = document.createElement("li");
    item.id = `suggest-${at}`;
    item.role = "option";
    item.textContent = each.word;
    const note = document.createElement("span");
    note.className = "type";
    note.textContent = " " + each.note;
    item.append(note);
    item.addEventListener("mousedown", (event) => { event.preventDefault(); take(at); });
    return item;
  }));
  list.hidden = false;
  text.setAttribute("aria-controls", "suggest");
  place();
  point();
}

// Puts the list below the word: a copy of the text with the same measures says where that is.
function place() {
  const copy = document.createElement("div"), here = document.createElement("span"), style = getComputedStyle(text);
  for (const each of ["font", "padding", "border", "boxSizing", "letterSpacing", "tabSize"]) copy.style[each] = style[each];
  Object.assign(copy.style, { position: "absolute", visibility: "hidden", whiteSpace: "pre-wrap", overflowWrap: "break-word", width: `${text.clientWidth}px` });
  copy.textContent = text.value.slice(0, from);
  here.textContent = "|";
  copy.append(here);
  text.parentElement.append(copy);
  const left = Math.min(here.offsetLeft, text.clientWidth - list.offsetWidth);
  list.style.left = `${Math.max(0, left)}px`;
  list.style.top = `${Math.min(here.offsetTop + here.offsetHeight - text.scrollTop + 4, text.offsetHeight)}px`;
  copy.remove();
}

function point() {
  [...list.children].forEach((each, at) => each.setAttribute("aria-selected", String(at === chosen)));
  list.children[chosen].scrollIntoView({ block: "nearest" });
  text.setAttribute("aria-activedescendant", `suggest-${chosen}`);
}

function close() {
  list.hidden = true;
  found = [];
  text.removeAttribute("aria-activedescendant");
  text.removeAttribute("aria-controls");
}

function take(at) {
  const { word, isWord, isTable } = found[at];
  text.focus();
  text.setSelectionRange(from, text.selectionStart);
  const said = isWord || isTable ? word : plain(word);
  // Keeps the browser's undo.
  if (!document.execCommand("insertText", false, said)) text.setRangeText(said, from, text.selectionEnd, "end");
  close();
}

text.addEventListener("input", (event) => { if (!begun) state.textContent = ""; if (event.inputType !== "insertFromPaste") suggest(false); });
text.addEventListener("blur", close);
text.addEventListener("click", close);
text.addEventListener("keydown", (event) => {
  const isOpen = !list.hidden;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(document.getElementById("run")); return; }
  if (event.key === " " && event.ctrlKey) { event.preventDefault(); suggest(true); return; }
  if (!isOpen || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") chosen = (chosen + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length, point();
  else if (event.key === "Tab" || event.key === "Enter") take(chosen);
  else if (event.key === "Escape") close();
  else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) { close(); return; } else return;
  event.preventDefault();
});

// Keeps the tables of the list whose names, or whose columns' names, have the words; columns then are shown.
const filter = document.getElementById("filter");
if (filter) {
  filter.hidden = false;
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const table of document.querySelectorAll("#names [data-table]")) {
      const name = table.dataset.table.toLowerCase(), columns = [...table.querySelectorAll("[data-column]")];
      const missing = words.filter((each) => !name.includes(each));
      const has = (column) => missing.every((each) => column.dataset.column.toLowerCase().includes(each));
      table.hidden = missing.length > 0 && !columns.some(has);
      table.querySelector("details").open = missing.length > 0 && !table.hidden;
      for (const column of columns) column.hidden = !has(column);
      shown += !table.hidden;
    }
    document.getElementById("filtered").textContent = words.length ? `${shown} found` : "";
  });
}

// A name of the list is written where the cursor is.
document.getElementById("names").addEventListener("click", (event) => {
  const item = event.target.closest("[data-column]");
  if (!item || String(getSelection())) return;
  text.focus();
  document.execCommand("insertText", false, plain(item.dataset.column));
});

text.focus();
text.setSelectionRange(text.value.length, text.value.length);
}

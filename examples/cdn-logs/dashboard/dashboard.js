"use strict";
// Draws what the export of gold.days has. No library, and nothing from other hosts.

const EXPORT = new URLSearchParams(location.search).get("export") || "../exports/gold/days/";
const EVERY = 30000; // milliseconds between two looks at the manifest

const CHARTS = [
  { title: "Requests", kind: "bars", lines: [["requests", "requests", "blue"]], show: compact },
  { title: "Bytes delivered", kind: "bars", lines: [["bytes", "bytes", "blue"]], show: bytes },
  { title: "Hit ratio", kind: "lines", lines: [["hit_ratio", "hits by cacheable requests", "green"]], show: percent, top: 1 },
  { title: "Errors", kind: "lines", lines: [["error_share", "errors by requests", "red"]], show: percent },
  { title: "Bots", kind: "lines", lines: [["bot_share", "requests of bots by requests", "amber"]], show: percent },
  { title: "Latency", kind: "lines", show: seconds,
    lines: [["p50", "half of the requests", "green"], ["p95", "95 %", "amber"], ["p99", "99 %", "red"]] },
];
const TILES = [
  ["requests", "requests", compact], ["bytes", "delivered", bytes], ["hit_ratio", "hit ratio", percent],
  ["error_share", "errors", percent], ["p95", "95 % faster than", seconds],
];

function compact(n) {
  const short = n < 100_000 ? {} : { notation: "compact", maximumSignificantDigits: 4 };
  return Intl.NumberFormat("en", short).format(n);
}
function percent(n) { return `${(100 * n).toFixed(n > 0 && n < 0.1 ? 1 : 0)} %`; }
function seconds(n) { return n < 1 ? `${Math.round(1000 * n)} ms` : `${n.toFixed(1)} s`; }
function bytes(n) {
  const units = ["B", "KB", "MB", "GB", "TB", "PB"];
  let at = 0;
  while (n >= 1000 && at < units.length - 1) { n /= 1000; at += 1; }
  return `${n.toFixed(n < 10 && at ? 1 : 0)} ${units[at]}`;
}

// Reading: the manifest is never cached, the files that it names always may be.

async function read() {
  const manifest = await fetched(EXPORT + "manifest.json", { cache: "no-store" }, (answer) => answer.json());
  const parse = { json: lines, csv: csv }[manifest.format];
  if (!parse || manifest.compression !== "none") {
    throw new Error(`the page reads json and csv without compression, not ${manifest.format} (${manifest.compression})`);
  }
  const texts = manifest.files.map((file) => fetched(EXPORT + file.path, {}, (answer) => answer.text()));
  const rows = (await Promise.all(texts)).flatMap(parse).map(withShares);
  return { manifest, rows: rows.sort((a, b) => (a.day < b.day ? -1 : 1)) };
}

async function fetched(url, options, content) {
  const answer = await fetch(url, options);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
  return content(answer);
}

function lines(text) { return text.split("\n").filter(Boolean).map((line) => JSON.parse(line)); }

function csv(text) {
  const rows = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r?\n|$)/g)) {
    rows.at(-1).push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end !== ",") rows.push([]);
  }
  const [names, ...values] = rows.filter((row) => row.length > 1);
  return values.map((row) => Object.fromEntries(names.map((name, at) => [name, name === "day" ? row[at] : row[at] && Number(row[at])])));
}

function withShares(row) {
  return { ...row, error_share: row.errors / row.requests, bot_share: row.bots / row.requests };
}

// Drawing

const WIDTH = 480, HEIGHT = 200, LEFT = 60, RIGHT = 12, TOP = 10, BOTTOM = 24;

function draw({ manifest, rows }) {
  const last = rows.at(-1), before = rows.at(-2);
  tiles.replaceChildren(...(last ? TILES.map((tile) => tileOf(tile, last, before)) : []));
  charts.replaceChildren(...CHARTS.map((chart) => chartOf(chart, rows)));
  numbers.replaceChildren(tableOf(rows));
  state.classList.remove("wrong");
  state.textContent = last
    ? `${rows.length} days until ${last.day} · as of ${manifest.written_at.slice(0, 16).replace("T", " ")} UTC`
    : "the export has no days yet";
  document.body.dataset.version = manifest.version;
}

function tileOf([column, words, show], last, before) {
  const tile = element("div", { class: "card" });
  tile.append(element("b", {}, known(last[column]) ? show(last[column]) : "–"), element("span", {}, words));
  if (before && known(before[column]) && known(last[column])) {
    tile.append(element("span", { class: "change" }, ` (${show(before[column])} the day before)`));
  }
  return tile;
}

function chartOf(chart, rows) {
  const card = element("div", { class: "card" });
  const values = rows.flatMap((row) => chart.lines.map(([column]) => row[column])).filter(known);
  const top = chart.top || nice(Math.max(0, ...values));
  const summary = `${chart.title}: ${rows.map((row) => `${row.day} ${chart.lines.map(([column]) => shown(chart, row[column])).join(", ")}`).join("; ")}`;
  const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": summary });
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
  const step = (WIDTH - LEFT - RIGHT) / Math.max(1, rows.length);
  const x = (at) => LEFT + step * (at + 0.5);
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(drawn("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(top * part), y2: y(top * part) }));
    svg.append(drawn("text", { x: LEFT - 6, y: y(top * part) + 4, "text-anchor": "end" }, chart.show(top * part)));
  }
  const labelled = Math.ceil(rows.length / 6);
  rows.forEach((row, at) => {
    if ((rows.length - 1 - at) % labelled === 0) {
      svg.append(drawn("text", { x: x(at), y: HEIGHT - 6, "text-anchor": "middle" }, row.day.slice(5)));
    }
  });
  for (const [column, words, colour] of chart.lines) {
    svg.append(...(chart.kind === "bars" ? barsOf : lineOf)({ rows, column, words, colour, x, y, step, chart }));
  }
  card.append(element("h2", {}, chart.title), svg);
  if (chart.lines.length > 1 || chart.kind === "lines") card.append(keyOf(chart.lines));
  return card;
}

function* barsOf({ rows, column, colour, x, y, step, chart }) {
  const width = Math.min(40, step * 0.7);
  for (const [at, row] of rows.entries()) {
    if (!known(row[column])) continue;
    const bar = drawn("rect", { x: x(at) - width / 2, width, y: y(row[column]), height: y(0) - y(row[column]), rx: 2, fill: `var(--${colour})` });
    bar.append(drawn("title", {}, `${row.day}: ${shown(chart, row[column])}`));
    yield bar;
  }
}

function* lineOf({ rows, column, words, colour, x, y, chart }) {
  let path = "", pen = "M";
  for (const [at, row] of rows.entries()) {
    // A day without a value leaves a gap.
    if (!known(row[column])) { pen = "M"; continue; }
    path += `${pen}${x(at).toFixed(1)} ${y(row[column]).toFixed(1)}`;
    pen = "L";
  }
  yield drawn("path", { d: path, fill: "none", stroke: `var(--${colour})`, "stroke-width": 2 });
  for (const [at, row] of rows.entries()) {
    if (!known(row[column])) continue;
    const point = drawn("circle", { cx: x(at), cy: y(row[column]), r: 3, fill: `var(--${colour})` });
    point.append(drawn("title", {}, `${row.day}, ${words}: ${shown(chart, row[column])}`));
    yield point;
  }
}

function keyOf(lines) {
  const key = element("p", { class: "key" });
  for (const [, words, colour] of lines) key.append(element("i", { style: `background: var(--${colour})` }), words);
  return key;
}

function tableOf(rows) {
  const columns = rows.length ? Object.keys(rows[0]).filter((name) => !name.endsWith("_share")) : [];
  const table = element("table", {});
  const line = (kind, values) => {
    const row = element("tr", {});
    row.append(...values.map((value) => element(kind, {}, value)));
    return row;
  };
  table.append(line("th", columns));
  table.append(...[...rows].reverse().map((row) => line("td", columns.map((name) => (known(row[name]) ? row[name].toLocaleString("en") : "–")))));
  return table;
}

function known(value) { return value !== null && value !== undefined && value !== "" && !Number.isNaN(value); }
function shown(chart, value) { return known(value) ? chart.show(value) : "none"; }

function nice(most) {
  if (!(most > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 4, 5, 8, 10].find((step) => step * size >= most) * size;
}

function element(name, attributes, text) { return filled(document.createElement(name), attributes, text); }
function drawn(name, attributes, text) { return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, text); }
function filled(node, attributes, text) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

const [tiles, charts, numbers, state] = ["tiles", "charts", "numbers", "state"].map((id) => document.getElementById(id));

async function look() {
  try {
    draw(await read());
  } catch (error) {
    // What was drawn before stays.
    state.classList.add("wrong");
    state.textContent = `the export cannot be read: ${error.message}`;
  }
}

look();
setInterval(look, EVERY);

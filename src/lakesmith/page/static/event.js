// Follows an event without leaving the page. Without it the page is complete. (In a block: scripts share names.)
"use strict";

{
const form = document.getElementById("event"), state = document.getElementById("state"), stop = document.getElementById("cancel");
let clock = 0;

const start = async () => {
  if (clock || !form) return;
  const begun = Date.now(), run = document.getElementById("run");
  clock = setInterval(() => { state.textContent = `following ... ${Math.round((Date.now() - begun) / 1000)} s`; }, 1000);
  state.textContent = "following ...";
  stop.hidden = false;
  run.disabled = true;
  try {
    const answer = await fetch("/event", { method: "POST", body: new URLSearchParams(new FormData(form)) });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("answer");
    if (!fresh) return location.reload();
    document.getElementById("answer").replaceWith(fresh);
    form.elements.number.value = fresh.dataset.number;
    state.textContent = fresh.querySelector("article.finding.error") ? "something is wrong" : "done";
    fresh.focus({ preventScroll: true });
  } catch (error) {
    state.textContent = "the page's server does not answer";
  } finally {
    clearInterval(clock);
    clock = 0;
    stop.hidden = true;
    run.disabled = false;
  }
};

const cancel = () => {
  state.textContent = "cancelling ...";
  return fetch("/event/cancel", { method: "POST", body: new URLSearchParams({ number: form.elements.number.value }), keepalive: true });
};

form?.addEventListener("submit", (event) => {
  if (event.submitter?.hasAttribute("data-plain")) return;
  event.preventDefault();
  start();
});
form?.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); start(); }
});
stop?.addEventListener("click", cancel);
window.addEventListener("pagehide", () => { if (clock) cancel(); });
}

// Clearing a stop: only when it can be, with its cause in view, by a person with an operator's key.
// The panel is not modal, so the stop stays within reach; another stop meanwhile takes it away.

import { $, say, show, text } from "./dom.js";
import { causeWords } from "./state.js";

let asked = ""; // the stop that the open panel is about

const isOperator = (status) => status?.you.role === "operator";
const identity = (status) => JSON.stringify([status.stop?.cause, status.stop?.since, status.stop?.by]);

export function wireClear(door, watch) {
  $("clear-ask").addEventListener("click", () => open(watch.status));
  $("clear-no").addEventListener("click", () => close());
  window.addEventListener("stop-pressed", () => close());
  $("clear-form").addEventListener("submit", (event) => {
    event.preventDefault();
    clear(door, watch);
  });
}

function open(status) {
  if (!status?.clear.possible) return;
  asked = identity(status);
  say($("clear-said"), "");
  text($("clear-cause"), causeWords(status.stop));
  show($("clear-key-row"), !isOperator(status));
  $("clear-key").required = !isOperator(status);
  $("clear-key").value = "";
  $("clear").show();
  $("clear-no").focus();
}

function close() {
  if (!$("clear").open) return;
  const within = $("clear").contains(document.activeElement);
  asked = "";
  $("clear-key").value = "";
  $("clear").close();
  if (within) $("clear-ask").focus();
}

async function clear(door, watch) {
  const key = $("clear-key").value.trim() || undefined;
  const answering = door.act("POST", "/stop/clear", {}, key);
  close();
  const answer = await answering;
  if (answer === null) say($("clear-said"), "Wait: another request is under way.", true);
  else say($("clear-said"), answer.ok ? "" : answer.words, !answer.ok);
  watch.wake();
}

export function paintClear({ status, gone, acting }) {
  const still = status?.stopped && status.clear.possible && identity(status) === asked;
  if ($("clear").open && !still) {
    close();
    if (status?.stopped) say($("clear-said"), "Something changed meanwhile: read it above, then clear.", true);
  }
  $("clear-yes").disabled = gone || acting;
}

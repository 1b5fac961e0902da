// The stop: one press, one request, at once, with no question. It works in every state of the page,
// also while nobody seems to answer, and says what came of it.

import { $, say } from "./dom.js";

const AFTER_MS = 400; // within this after a finger or mouse leaves, a click is the same press

const NO_KEY = "NOT STOPPED: this page has no key. Use the switch of the servo supply, then type the key.";

export function wireStop(door, watch) {
  const button = $("stop");
  let pressed = false; // by a finger or mouse: the click that follows is no second press
  const press = () => stop(door, watch);

  button.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pressed = true;
    press();
  });
  const released = () => setTimeout(() => { pressed = false; }, AFTER_MS);
  window.addEventListener("pointerup", released, true);
  window.addEventListener("pointercancel", released, true);
  button.addEventListener("click", (event) => {
    const byHand = event.detail > 0; // 0: by keyboard or by a helper such as a screen reader
    if (!byHand || !pressed) press();
    pressed = pressed && !byHand;
  });
  button.addEventListener("contextmenu", (event) => event.preventDefault());
  window.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.repeat) return;
    event.preventDefault();
    press();
  }, true);
}

let underWay = 0;
let latest = 0;

async function stop(door, watch) {
  if (!door.keyed) {
    say($("stop-said"), NO_KEY, true);
    return;
  }
  window.dispatchEvent(new Event("stop-pressed"));
  const number = ++latest;
  underWay += 1;
  $("stop").classList.add("sent");
  say($("stop-said"), "Stop sent…");
  const answer = await door.stop();
  underWay -= 1;
  $("stop").classList.toggle("sent", underWay > 0);
  if (number === latest) tell(answer);
  watch.wake();
}

function tell(answer) {
  const at = new Date().toLocaleTimeString();
  if (!answer.ok) {
    const why = answer.words || `The daemon answered ${answer.status}.`;
    say($("stop-said"), `${at} NOT CONFIRMED. ${why} Use the switch of the servo supply.`, true);
    return;
  }
  const { written, confirmed, of } = answer.body;
  say($("stop-said"), `${at} ${answer.words}`, !written || confirmed < of);
}

// The words about a press are of no use any more once the stop has been cleared.
export function forgetStop() {
  if (underWay === 0) say($("stop-said"), "");
}

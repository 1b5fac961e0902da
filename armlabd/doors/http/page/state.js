// The state in words: the bar at the top, why the arm is stopped, and what each part needs next.

import { $, fill, made, show, text } from "./dom.js";
import { ageWords } from "./fresh.js";

export function paintState(view) {
  const [words, kind] = headline(view);
  text($("headline"), words);
  $("headline").className = kind;
  text($("age"), view.keyed ? ageLine(view) : "");
  document.body.classList.toggle("gone", view.gone);
  document.body.classList.toggle("known", view.status !== null);
  document.title = `${words} · armlabd`;
  fill($("badges"), badges(view.status), (names) => names.map((name) => made("span", "", name)));
  paintStopped(view);
  if (view.status) fill($("parts-list"), parts(view.status), partRows);
}

function ageLine({ status, gone, ageMs }) {
  const words = ageWords(ageMs);
  return gone && status ? `${words}: not how it is now. The sure stop is the servo supply.` : words;
}

function headline({ status, gone, keyed, run }) {
  if (!keyed) return ["NO KEY YET", "warn"];
  if (gone) return ["NO ANSWER", "bad"];
  if (status.stopped) return ["STOPPED", "bad"];
  if (!status.arm.connected) return ["NO ARM", "bad"];
  if (status.run?.question) return ["WAITING FOR YOU", "warn"];
  if (status.arm.moving) return ["MOVING", "warn"];
  if (status.run) return [`AT WORK: ${(run?.id === status.run.id && run.state) || status.run.state}`, "warn"];
  return [status.arm.torque ? "READY, holding still" : "READY, torque off", "good"];
}

function badges(status) {
  if (!status) return [];
  const names = [];
  if (status.simulated) names.push("virtual arm");
  if (!status.button.required) names.push("no physical stop");
  else if (status.button.state !== "released") names.push(`stop button: ${status.button.state}`);
  return names;
}

function paintStopped({ status, gone }) {
  const stopped = status?.stopped ?? false;
  show($("why"), stopped);
  if (!stopped) return;
  const stop = status.stop ?? {};
  text($("why-cause"), causeWords(stop));
  text($("why-done"), doneWords(stop));
  const next = status.clear.next || stop.disk_error || "";
  text($("why-not"), status.clear.possible ? "" : `It cannot be cleared yet. ${next}`);
  $("clear-ask").disabled = gone || !status.clear.possible;
}

export function causeWords(stop) {
  const since = stop.since ? ` Since ${stop.since}.` : "";
  return `${stop.sentence ?? "Why is not known."}${since}`;
}

function doneWords(stop) {
  if (stop.held) return "The arm holds still with torque on.";
  const written = stop.written ? "" : "Torque-off could not be written at once. ";
  const what = stop.grip_kept ? "Torque off, the gripper keeps what it holds:" : "Torque off is";
  return `${written}${what} confirmed by ${stop.confirmed ?? 0} of ${stop.of ?? 6} servos.`;
}

function parts(status) {
  const { arm, camera, planner, button, you } = status;
  const camState = camera.state === "none" ? "none" : `${camera.state}, markers ${camera.markers.state.replace("_", " ")}`;
  return [
    ["Arm", armWords(arm), arm.next],
    ["Camera", camState, camera.next || camera.markers.next],
    ["Planner", [planner.name, planner.state].filter(Boolean).join(", "), planner.next],
    ["Stop button", button.state, button.next],
    ["Your key", `${you.name}, ${you.role}`, ""],
  ];
}

function armWords(arm) {
  const words = [arm.state.replaceAll("_", " ")];
  if (arm.torque !== undefined) words.push(arm.torque ? "torque on" : "torque off");
  if (arm.holding_something) words.push("holding something");
  if (arm.age_s > 1) words.push(`read ${arm.age_s.toFixed(1)} s ago`);
  return words.join(", ");
}

function partRows(rows) {
  return rows.flatMap(([name, state, next]) => {
    const nodes = [made("dt", "", name), made("dd", "", state)];
    if (next) nodes.push(made("dd", "todo", `Next: ${next}`));
    return nodes;
  });
}

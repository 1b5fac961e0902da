// The goal, the run it became, its steps as they happen, and what it asks.

import { $, fill, made, say, show, text } from "./dom.js";

const RANK = { reader: 0, agent: 1, operator: 2 };
const MARKS = { done: "✓", failed: "✗", next: "▸", later: "·" };

const atLeast = (status, role) => RANK[status?.you.role] >= RANK[role];

export function wireRun(door, watch) {
  $("goal-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const answer = await asked(door, "goal-said", "POST", "/goals", { goal: $("goal").value });
    if (answer?.ok && answer.body.id) watch.show(answer.body.id);
    if (answer?.ok) $("goal").value = "";
  });
  $("answer-form").addEventListener("submit", (event) => {
    event.preventDefault();
    give(door, watch, $("answer").value);
  });
  $("question-options").addEventListener("click", (event) => {
    if (event.target.matches("button")) give(door, watch, event.target.textContent);
  });
  $("cancel").addEventListener("click", async () => {
    const id = watch.status?.run?.id;
    if (id) await asked(door, "cancel-said", "DELETE", `/runs/${encodeURIComponent(id)}`);
    watch.wake();
  });
}

async function give(door, watch, answer) {
  const id = watch.status?.run?.question?.id;
  if (!id) return;
  const heard = await asked(door, "answer-said", "POST", `/questions/${encodeURIComponent(id)}`, { answer });
  if (heard?.ok) $("answer").value = "";
  watch.wake();
}

// One act; its refusal is said where it was asked for.
async function asked(door, where, method, path, body) {
  say($(where), "…");
  const answer = await door.act(method, path, body);
  if (answer === null) say($(where), "Wait: another request is under way.", true);
  else say($(where), answer.ok ? "" : answer.words, !answer.ok);
  return answer;
}

export function paintRun(view) {
  const { status, run, gone, acting } = view;
  const able = !gone && !acting;
  $("goal-send").disabled = !able || !atLeast(status, "agent");
  paintQuestion(status, able);
  show($("run"), run !== null);
  if (run === null) return;
  text($("run-goal"), `“${run.goal}”${run.by ? `, by ${run.by}` : ""}`);
  text($("run-state"), stateWords(run));
  if (fill($("steps"), stepRows(run), stepItems)) showNewest($("steps"));
  show($("cancel"), run.state !== "ended" && atLeast(status, "agent"));
  $("cancel").disabled = !able;
}

function paintQuestion(status, able) {
  const question = status?.run?.question;
  show($("question"), Boolean(question));
  if (!question) return;
  text($("question-text"), question.text);
  fill($("question-options"), [question.id, question.options], ([, options]) =>
    options.map((option) => {
      const button = made("button", "", option);
      button.type = "button";
      return button;
    }));
  const may = able && atLeast(status, "operator");
  for (const button of $("question").querySelectorAll("button")) button.disabled = !may;
  if (!atLeast(status, "operator")) say($("answer-said"), "Answering needs an operator's key.");
}

function stateWords(run) {
  if (run.state !== "ended") return `Now: ${run.state}`;
  return `Ended: ${run.result}. ${run.sentence ?? ""}`;
}

// What happened, then what the plan still has.
function stepRows(run) {
  const rows = run.steps.map((row) => ({
    state: row.ok === false ? "failed" : "done",
    what: row.event === "step" ? `${row.step}. ${row.note || row.tool}` : row.event.replaceAll("_", " "),
    heard: row.sentence ?? "",
  }));
  if (run.state === "ended" || !run.plan) return rows;
  const last = run.steps.findLast((row) => row.event === "step");
  const from = last ? (last.ok ? last.step : last.step - 1) : 0;
  run.plan.steps.slice(from).forEach((step, index) => rows.push({
    state: index === 0 && run.state === "executing" ? "next" : "later",
    what: `${from + index + 1}. ${step.note || step.tool}`,
    heard: "",
  }));
  return rows;
}

// Scroll the list, and never the page, to what happens now.
function showNewest(list) {
  const item = list.querySelector(".next") ?? list.lastElementChild;
  if (item) list.scrollTop = item.offsetTop - list.clientHeight / 2;
}

function stepItems(rows) {
  return rows.map(({ state, what, heard }) => {
    const item = made("li", state);
    const mark = made("span", "", MARKS[state]);
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", state);
    item.append(mark, made("span", "what", what));
    if (heard) item.append(made("span", "heard", heard));
    return item;
  });
}

import { create } from "@bufbuild/protobuf";
import { PassageSchema, PromptMessageSchema, PromptSchema, Role } from "@parley/rpc/llm";
import { expect, test } from "vitest";
import type { CompletionRequest } from "../provider.ts";
import { createBuiltinProvider } from "./builtin.ts";

const PASSAGES = [
  create(PassageSchema, { source: "a.md", heading: "Prices", text: "Full service: 119 €.\nFlat tyre: 18 €." }),
];

/** Asks questions, the newest last. Returns the text and why the model stopped. */
function ask(...questions: string[]) {
  return complete("extractive", questions);
}

function askCurated(answer: string) {
  return complete("curated", ["How much is a full service?"], answer);
}

async function complete(model: string, questions: readonly string[], answer = "") {
  let text = "";
  let stopCause: string | undefined;
  const messages = questions.flatMap((content) => [
    create(PromptMessageSchema, { role: Role.USER, content }),
    create(PromptMessageSchema, { role: Role.ASSISTANT, content: "A reply." }),
  ]);
  await createBuiltinProvider().stream({
    model,
    prompt: create(PromptSchema, { passages: PASSAGES, messages: messages.slice(0, -1), answer }),
    signal: new AbortController().signal,
    onText: (part: string) => {
      text += part;
    },
    onFinished: (finished: { stopCause: string }) => {
      stopCause = finished.stopCause;
    },
  } as unknown as CompletionRequest);
  return { text, stopCause };
}

test("an answer ends with stop, and so does a reply to a greeting", async () => {
  expect(await ask("How much is a full service?")).toEqual({
    text: "Full service: 119 €.\n\n— a.md › Prices",
    stopCause: "stop",
  });
  expect(await ask("Hello")).toMatchObject({ stopCause: "stop" });
});

test("the model curated replies with the owner's answer, word for word", async () => {
  const answer = "See **My orders**.\n\n1. Open it.\n2.  Choose *Track*, and wait for a moment or two.";
  expect(await askCurated(answer)).toEqual({ text: answer, stopCause: "stop" });
  // Without an answer, it replies as the model extractive.
  expect(await askCurated("")).toEqual(await ask("How much is a full service?"));
});

test("a decline ends with declined", async () => {
  expect(await ask("Who is the pope?")).toMatchObject({ stopCause: "declined" });
});

test("the question before the newest one completes it", async () => {
  expect(await ask("How much is a full service?", "And a flat tyre?")).toMatchObject({
    text: "Flat tyre: 18 €.\n\n— a.md › Prices",
  });
  expect(await ask("How old is a full service?", "And a flat tyre?")).toMatchObject({ stopCause: "declined" });
});

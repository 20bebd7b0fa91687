import { create } from "@bufbuild/protobuf";
import { PassageSchema, PromptMessageSchema, PromptSchema, Role } from "@parley/rpc/llm";
import { expect, test } from "vitest";
import type { CompletionRequest } from "../provider.ts";
import { createBuiltinProvider } from "./builtin.ts";

const PASSAGES = [
  create(PassageSchema, { source: "a.md", heading: "Prices", text: "Full service: 119 €.\nFlat tyre: 18 €." }),
];

/** Asks questions, the newest last. Returns the text and why the model stopped. */
async function ask(...questions: string[]) {
  let text = "";
  let stopCause: string | undefined;
  const messages = questions.flatMap((content) => [
    create(PromptMessageSchema, { role: Role.USER, content }),
    create(PromptMessageSchema, { role: Role.ASSISTANT, content: "A reply." }),
  ]);
  await createBuiltinProvider().stream({
    prompt: create(PromptSchema, { passages: PASSAGES, messages: messages.slice(0, -1) }),
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

test("a decline ends with declined", async () => {
  expect(await ask("Who is the pope?")).toMatchObject({ stopCause: "declined" });
});

test("the question before the newest one completes it", async () => {
  expect(await ask("How much is a full service?", "And a flat tyre?")).toMatchObject({
    text: "Flat tyre: 18 €.\n\n— a.md › Prices",
  });
  expect(await ask("How old is a full service?", "And a flat tyre?")).toMatchObject({ stopCause: "declined" });
});

import { create } from "@bufbuild/protobuf";
import { BotDisplaySchema } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { serializeConfigBody } from "./config-body.ts";

const botOf = (texts: Record<string, object>, hasHandoff = false) =>
  (
    JSON.parse(serializeConfigBody(create(BotDisplaySchema, { name: "Ada", texts }), hasHandoff)) as {
      bot: Record<string, unknown>;
    }
  ).bot;

test("the configuration has no texts by language and no handoff if the bot has none", () => {
  expect(Object.keys(botOf({}))).toHaveLength(10);
  expect(botOf({}, true)).toMatchObject({ handoff: true });
});

test("the configuration has, by language, only the texts that replace the bot's own", () => {
  expect(
    botOf({ de: { welcomeMessage: "Hallo", words: { send: "Los" } }, fr: { quickReplies: ["Où ?"] } }).texts,
  ).toEqual({
    de: { welcome_message: "Hallo", words: { send: "Los" } },
    fr: { quick_replies: ["Où ?"] },
  });
});

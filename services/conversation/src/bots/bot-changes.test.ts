import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { BotChangesSchema } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { toBotPatch } from "./bot-changes.ts";

const patchOf = (changes: MessageInitShape<typeof BotChangesSchema>) => toBotPatch(create(BotChangesSchema, changes));

test("toBotPatch contains only the fields that are set", () => {
  expect(toBotPatch(undefined)).toEqual({ display: {} });
  expect(patchOf({})).toEqual({ display: {} });
  expect(patchOf({ model: "", name: "Ada", borderRadius: 0, quickReplies: {}, customCssVars: {} })).toEqual({
    model: "",
    display: { name: "Ada", borderRadius: 0, quickReplies: [], customCssVars: {} },
  });
});

test("toBotPatch keeps valid values unchanged", () => {
  const display = {
    welcomeMessage: "Hi 👋",
    logoUrl: "https://cdn.example/logo.svg",
    primaryColor: "#aBcDeF",
    position: "bottom-left",
    themeMode: "dark",
    fontFamily: '"Inter", system-ui',
  };
  expect(patchOf({ ...display, model: "openai:gpt-4.1-mini", systemPrompt: "x".repeat(16_000) })).toMatchObject({
    display,
  });
  expect(patchOf({ customCssVars: { values: { "--parley-gap": "4px" } } }).display.customCssVars).toEqual({
    "--parley-gap": "4px",
  });
  expect(patchOf({ name: "😀".repeat(200) }).display.name).toHaveLength(400);
});

test.each<[string, MessageInitShape<typeof BotChangesSchema>]>([
  ["model", { model: "gpt" }],
  ["model", { model: "openai: x" }],
  ["system_prompt", { systemPrompt: "x".repeat(16_001) }],
  ["fallback", { fallback: " " }],
  ["name", { name: "" }],
  ["name", { name: "😀".repeat(201) }],
  ["name", { name: "a\0b" }],
  ["welcome_message", { welcomeMessage: "x".repeat(2_001) }],
  ["logo_url", { logoUrl: "javascript:alert(1)" }],
  ["logo_url", { logoUrl: "/logo.svg" }],
  ["primary_color", { primaryColor: "#fff" }],
  ["primary_color", { primaryColor: "red" }],
  ["position", { position: "top" }],
  ["theme_mode", { themeMode: "" }],
  ["font_family", { fontFamily: "x;} body{display:none" }],
  ["border_radius", { borderRadius: -1 }],
  ["border_radius", { borderRadius: 65 }],
  ["quick_replies", { quickReplies: { values: Array(11).fill("a") } }],
  ["quick_replies", { quickReplies: { values: [""] } }],
  ["custom_css_vars", { customCssVars: { values: { color: "red" } } }],
  ["custom_css_vars", { customCssVars: { values: { "--a": "</style>" } } }],
  ["custom_css_vars", { customCssVars: { values: { "--a": "URL(https://tracker.example)" } } }],
])("toBotPatch names %s when it refuses %o", (field, changes) => {
  expect(() => patchOf(changes)).toThrow(field);
});

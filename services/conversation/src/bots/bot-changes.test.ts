import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { DEFAULT_FALLBACK } from "@parley/bot-rules/moderation";
import { requireValid } from "@parley/rpc";
import { BotChangesSchema, BotDisplaySchema, BotSchema, UpdateBotRequestSchema } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { toBotPatch } from "./bot-changes.ts";
import { readSettings } from "./bot-settings.ts";

const patchOf = (changes: MessageInitShape<typeof BotChangesSchema>) => toBotPatch(create(BotChangesSchema, changes));

test("toBotPatch returns only the fields that are set", () => {
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
  for (const timeZone of ["UTC", "Europe/Kyiv", "America/Argentina/Buenos_Aires"])
    expect(patchOf({ timeZone })).toMatchObject({ timeZone });
  expect(patchOf({ customCssVars: { values: { "--parley-gap": "4px" } } }).display.customCssVars).toEqual({
    "--parley-gap": "4px",
  });
  const values = {
    "--a": "1px solid rgb(0 0 0 / 50%), #fff",
    "--b": "calc((100% - 2 * var(--gap, 4px)) / 3)",
    "--c": "linear-gradient(45deg, Color-Mix(in oklab, red 20%, blue), transparent)",
    "--d": "'Noto Sans', \"Gill (Sans)\", 游ゴシック, sans-serif",
    "--e": "-0.5em +2e3px",
  };
  expect(patchOf({ customCssVars: { values } }).display.customCssVars).toEqual(values);
  const consent = {
    consentText: "We **store** this.",
    consentVersion: "2026-12",
    consentLink: "https://shop.example/p",
  };
  for (const changes of [consent, { consentText: "", consentLink: "" }])
    expect(patchOf(changes)).toMatchObject(changes);
  const texts = {
    de: {
      welcomeMessage: "Hallo",
      quickReplies: ["Wo?"],
      words: { send: "Los" },
      fallback: "Nein.",
      consentText: "Ja?",
    },
  };
  expect(patchOf({ texts: { values: texts } }).display.texts).toEqual(texts);
  expect(patchOf({ texts: {} }).display.texts).toEqual({});
  expect(patchOf({ name: "😀".repeat(200) }).display.name).toHaveLength(400);
});

const TOO_MANY_LANGUAGES = Array.from(
  { length: 41 },
  (_, at) => `a${String.fromCharCode(97 + (at % 26))}${at > 25 ? "-xx" : ""}`,
);
const MANY_LANGUAGES = TOO_MANY_LANGUAGES.slice(0, 10);

test.each<[string, MessageInitShape<typeof BotChangesSchema>]>([
  ["model", { model: "gpt" }],
  ["model", { model: "openai: x" }],
  ["model", { model: "openai:gpt-ü" }],
  ["model", { model: `${"p".repeat(33)}:x` }],
  ["model", { model: `openai:${"x".repeat(194)}` }],
  ["system_prompt", { systemPrompt: "x".repeat(16_001) }],
  ["fallback", { fallback: " " }],
  ["time_zone", { timeZone: "" }],
  ["time_zone", { timeZone: "Berlin" }],
  ["time_zone", { timeZone: "+02:00" }],
  ["name", { name: "" }],
  ["name", { name: "😀".repeat(201) }],
  ["name", { name: "a\0b" }],
  ["welcome_message", { welcomeMessage: "x".repeat(2_001) }],
  ["logo_url", { logoUrl: "javascript:alert(1)" }],
  ["logo_url", { logoUrl: "/logo.svg" }],
  ["consent_text", { consentText: " " }],
  ["consent_text", { consentText: "x".repeat(2_001) }],
  ["consent_version", { consentVersion: "" }],
  ["consent_version", { consentVersion: "x".repeat(65) }],
  ["consent_link", { consentLink: "http://shop.example/" }],
  ["consent_link", { consentLink: "javascript:alert(1)" }],
  ["consent_link", { consentLink: `https://shop.example/${"x".repeat(2_000)}` }],
  ["texts of de: consent_text", { texts: { values: { de: { consentText: "x".repeat(2_001) } } } }],
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
  ["texts", { texts: { values: { DE: {} } } }],
  ["texts", { texts: { values: { "": {} } } }],
  ["texts of de: welcome_message", { texts: { values: { de: { welcomeMessage: "x".repeat(2_001) } } } }],
  ["texts of de: fallback", { texts: { values: { de: { fallback: "x".repeat(2_001) } } } }],
  ["texts of de: fallback", { texts: { values: { de: { fallback: " " } } } }],
  ["texts of de: quick_replies", { texts: { values: { de: { quickReplies: [" "] } } } }],
  ["texts of de: words", { texts: { values: { de: { words: { "a b": "x" } } } } }],
  ["texts of de: words", { texts: { values: { de: { words: { send: " " } } } } }],
  ["texts", { texts: { values: Object.fromEntries(TOO_MANY_LANGUAGES.map((language) => [language, {}])) } }],
  [
    "texts",
    {
      texts: {
        values: Object.fromEntries(MANY_LANGUAGES.map((each) => [each, { welcomeMessage: "x".repeat(1_999) }])),
      },
    },
  ],
  ["custom_css_vars", { customCssVars: { values: { "--a": "</style>" } } }],
  ["custom_css_vars", { customCssVars: { values: { "--a": "URL(https://tracker.example)" } } }],
  ...[
    "url(https://tracker.example)",
    "u\\72l(https://tracker.example)",
    "\\75 rl('https://tracker.example')",
    "image-set('https://tracker.example' 1x)",
    "-webkit-image-set('https://tracker.example' 1x)",
    "src('https://tracker.example')",
    "cross-fade('https://tracker.example', red)",
    "image('https://tracker.example')",
    "element(#id)",
    "paint(x)",
    "format('x')",
    "linear-gradient(red, image-set('https://tracker.example' 1x))",
    "calc(1px + (src('https://tracker.example')))",
    "'a' src('https://tracker.example')",
    "\"a' src('https://tracker.example') \"b\"",
    "@import 'https://tracker.example'",
    "red; background: blue",
    "red } a { color: red",
    "red !important",
    "/**/red",
    "'open",
    "a\nb",
    "a\fb",
    "</style>",
  ].flatMap((value): [string, MessageInitShape<typeof BotChangesSchema>][] => [
    ["custom_css_vars", { customCssVars: { values: { "--a": value } } }],
    ["font_family", { fontFamily: value }],
  ]),
])("an invalid %s is refused with its name, by the rules of the proto or by toBotPatch: %o", (field, changes) => {
  const request = create(UpdateBotRequestSchema, { changes });
  const update = () => {
    requireValid(UpdateBotRequestSchema, request);
    toBotPatch(request.changes);
  };
  expect(update).toThrow(field);
});

test("each field of BotChanges is stored as a field of Bot or of its display", () => {
  const stored = { ...BotSchema.field, ...BotDisplaySchema.field };
  expect(Object.keys(BotChangesSchema.field).filter((name) => !(name in stored))).toEqual([]);
});

test("a setting that is not stored has its default, and a setting of a newer version is ignored", () => {
  const settings = readSettings({ model: "openai:x", ofNewerVersion: true });
  expect(settings).toMatchObject({ model: "openai:x", systemPrompt: "", fallback: DEFAULT_FALLBACK, timeZone: "UTC" });
  expect(settings).toMatchObject({ consentText: "", consentVersion: "1", consentLink: "" });
  expect(settings).not.toHaveProperty("ofNewerVersion");
});

import { create } from "@bufbuild/protobuf";
import { type Bot, BotDisplaySchema } from "@parley/rpc/conversation";
import type { Display } from "../components/preview.tsx";
import { withoutBlanks } from "../components/without-blanks.ts";
import { t } from "../i18n/t.tsx";

/** A bot's settings as the bot editor shows them. */
export type BotSettings = Omit<Display, "customCssVars"> &
  Omit<Bot, "$typeName" | "$unknown" | "id" | "workspaceId" | "slug" | "display" | "createdAt">;

const TEXT_LABELS = {
  name: t("Name"),
  welcomeMessage: t("Welcome message"),
  quickReplies: t("Suggested questions"),
  texts: t("Other languages"),
};
const LOOK_LABELS = {
  primaryColor: t("Colour"),
  themeMode: t("Theme"),
  position: t("Corner of the page"),
  borderRadius: t("Rounding of corners, in pixels"),
  fontFamily: t("Font"),
  logoUrl: t("Logo"),
};
const ANSWER_LABELS = {
  systemPrompt: t("Instructions"),
  model: t("Model"),
  temperature: t("Temperature"),
  topP: t("Top P"),
  maxOutputTokens: t("Longest answer, in tokens"),
  reasoningEffort: t("Effort of reasoning"),
  showSources: t("Sources below answers"),
  fallback: t("Text in place of a blocked answer"),
  timeZone: t("Time zone"),
  visitorMessagesPerDay: t("Messages of one visitor a day"),
};
const CONSENT_LABELS = {
  consentText: t("Text that visitors agree to"),
  consentVersion: t("Version of the text"),
  consentLink: t("Link to more about it"),
};
const HANDOFF_LABELS = {
  handoffEnabled: t("Visitors can ask for a person"),
  handoffWaitSeconds: t("Longest wait for a person, in seconds"),
  handoffHours: t("Hours of your team"),
  handoffAfterDeclined: t("Questions without an answer before a person is asked, 0 for never"),
  handoffAfterBadlyRated: t("Bad ratings before a person is asked, 0 for never"),
};
/** The labels of the settings. */
export const LABELS: Readonly<Record<keyof BotSettings, string>> = {
  ...TEXT_LABELS,
  ...LOOK_LABELS,
  ...ANSWER_LABELS,
  ...CONSENT_LABELS,
  ...HANDOFF_LABELS,
};
/** The sections of the bot editor, each with the labels of its settings. */
export const SECTIONS: readonly (readonly [title: string, labels: Readonly<Record<string, string>>])[] = [
  [t("What visitors read"), TEXT_LABELS],
  [t("Looks"), LOOK_LABELS],
  [t("How it answers"), ANSWER_LABELS],
  [t("Consent"), CONSENT_LABELS],
  [t("A person takes over"), HANDOFF_LABELS],
];

export type SectionProps = {
  draft: BotSettings;
  change: <Name extends keyof BotSettings>(name: Name, value: BotSettings[Name]) => void;
};

export function toBotSettings(bot: Bot): BotSettings {
  const { $typeName, $unknown, id, workspaceId, slug, createdAt, display, ...settings } = bot;
  const { $typeName: _, $unknown: _unknown, customCssVars, texts, ...looks } = display ?? create(BotDisplaySchema);
  return {
    ...settings,
    ...looks,
    texts: Object.fromEntries(
      Object.entries(texts).map(([language, { welcomeMessage, quickReplies, words, fallback, consentText }]) => [
        language,
        { welcomeMessage, quickReplies, words, fallback, consentText },
      ]),
    ),
  };
}

/** Returns the changes as the service receives them. */
export function toBotChanges(changes: Partial<BotSettings>) {
  const { quickReplies, texts, temperature, topP, handoffHours, ...others } = changes;
  return {
    ...others,
    ...("temperature" in changes && { temperature: toOptionalNumber(temperature) }),
    ...("topP" in changes && { topP: toOptionalNumber(topP) }),
    ...(handoffHours && { handoffHours: { values: withoutBlanks(handoffHours) } }),
    ...(quickReplies && { quickReplies: { values: withoutBlanks(quickReplies) } }),
    ...(texts && {
      texts: {
        values: Object.fromEntries(
          Object.entries(texts).map(([language, each]) => [
            language,
            { ...each, quickReplies: withoutBlanks(each.quickReplies), words: withoutBlankWords(each.words) },
          ]),
        ),
      },
    }),
  };
}

const toOptionalNumber = (value: number | undefined) => (value === undefined ? {} : { value });

/** The widget shows its own text in place of one that is left blank. */
const withoutBlankWords = (words: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(words).filter(([, text]) => text.trim() !== ""));

/**
 * Returns the names of the changed settings that someone else has changed too. `bases` are the values that the changes replace, and `latest`
 * are the stored values.
 */
export function findConflicts(
  changes: Partial<BotSettings>,
  bases: Partial<BotSettings>,
  latest: BotSettings,
): (keyof BotSettings)[] {
  const differ = (one: unknown, other: unknown) => JSON.stringify(one) !== JSON.stringify(other);
  const names = Object.keys(changes) as (keyof BotSettings)[];
  return names.filter((name) => differ(latest[name], bases[name]) && differ(latest[name], changes[name]));
}

/** Returns the changes that are not saved yet. Keeps a field whose value changed again while it was being saved. */
export function withoutSaved(changes: Partial<BotSettings>, saved: Partial<BotSettings>): Partial<BotSettings> {
  const rest = Object.entries(changes).filter(([name, value]) => saved[name as keyof BotSettings] !== value);
  return Object.fromEntries(rest);
}

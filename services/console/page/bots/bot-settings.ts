import type { Bot } from "@parley/rpc/conversation";
import type { Display } from "../components/preview.tsx";

/** A bot's settings as the bot editor shows them. */
export type BotSettings = Omit<Display, "customCssVars"> & { model: string; systemPrompt: string; fallback: string };

export type SectionProps = {
  draft: BotSettings;
  change: <Name extends keyof BotSettings>(name: Name, value: BotSettings[Name]) => void;
};

export function toBotSettings({ model, systemPrompt, fallback, display }: Bot): BotSettings {
  return {
    model,
    systemPrompt,
    fallback,
    name: display?.name ?? "",
    welcomeMessage: display?.welcomeMessage ?? "",
    logoUrl: display?.logoUrl ?? "",
    primaryColor: display?.primaryColor ?? "",
    position: display?.position ?? "",
    themeMode: display?.themeMode ?? "",
    fontFamily: display?.fontFamily ?? "",
    borderRadius: display?.borderRadius ?? 0,
    quickReplies: display?.quickReplies ?? [],
  };
}

export function withoutBlanks(values: readonly string[]): string[] {
  return values.filter((value) => value.trim() !== "");
}

/** Returns the changes that are not saved yet. Keeps a field whose value changed again while it was being saved. */
export function withoutSaved(changes: Partial<BotSettings>, saved: Partial<BotSettings>): Partial<BotSettings> {
  const rest = Object.entries(changes).filter(([name, value]) => saved[name as keyof BotSettings] !== value);
  return Object.fromEntries(rest);
}

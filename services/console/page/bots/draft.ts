import type { Bot } from "@parley/rpc/conversation";
import type { Display } from "../components/preview.tsx";

/** The values in the form of the bot editor. */
export type Draft = Omit<Display, "customCssVars"> & { model: string; systemPrompt: string; fallback: string };

/** The properties of a section of the form. */
export type SectionProps = { draft: Draft; change: <Name extends keyof Draft>(name: Name, value: Draft[Name]) => void };

export function toDraft({ model, systemPrompt, fallback, display }: Bot): Draft {
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

/** Returns the changes without the saved ones. Keeps a field whose value changed again while it was being saved. */
export function withoutSaved(changes: Partial<Draft>, saved: Partial<Draft>): Partial<Draft> {
  const rest = Object.entries(changes).filter(([name, value]) => saved[name as keyof Draft] !== value);
  return Object.fromEntries(rest);
}

import type { Bot } from "@parley/rpc/conversation";
import type { Display } from "../components/preview.tsx";

/** The fields of the form. */
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

/** Returns the changes without those that were saved. A field that was changed again since then stays. */
export function withoutSaved(changes: Partial<Draft>, saved: Partial<Draft>): Partial<Draft> {
  const rest = Object.entries(changes).filter(([name, value]) => saved[name as keyof Draft] !== value);
  return Object.fromEntries(rest);
}

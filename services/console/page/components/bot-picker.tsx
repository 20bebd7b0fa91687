import type { Bot } from "@parley/rpc/conversation";
import { nameBots } from "./bot-names.ts";
import { SelectField } from "./field.tsx";

type BotPickerProps = { bots: readonly Bot[]; value: string; onChange: (slug: string) => void; hint?: string };

export function BotPicker({ bots, value, onChange, hint }: BotPickerProps) {
  return <SelectField label="Bot" {...(hint && { hint })} options={nameBots(bots)} value={value} onChange={onChange} />;
}

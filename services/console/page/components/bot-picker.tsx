import type { Bot } from "@parley/rpc/conversation";
import { SelectField } from "./field.tsx";

type BotPickerProps = { bots: readonly Bot[]; value: string; onChange: (slug: string) => void; hint?: string };

export function BotPicker({ bots, value, onChange, hint }: BotPickerProps) {
  const options = bots.map(({ slug, display }) => [slug, display?.name || slug] as const);
  return <SelectField label="Bot" {...(hint && { hint })} options={options} value={value} onChange={onChange} />;
}

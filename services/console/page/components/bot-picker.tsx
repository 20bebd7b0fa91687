import type { Bot } from "@parley/rpc/conversation";
import { t } from "../i18n/t.tsx";
import { toBotOptions } from "./bot-names.ts";
import { SelectField } from "./field.tsx";

type BotPickerProps = { bots: readonly Bot[]; value: string; onChange: (slug: string) => void; hint?: string };

export function BotPicker({ bots, value, onChange, hint }: BotPickerProps) {
  return (
    <SelectField
      label={t("Bot")}
      {...(hint && { hint })}
      options={toBotOptions(bots)}
      value={value}
      onChange={onChange}
    />
  );
}

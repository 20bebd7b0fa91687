import { BotChangesSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { Checkbox } from "../components/checkbox.tsx";
import { TextArea, TextField } from "../components/field.tsx";
import { t } from "../i18n/t.tsx";
import { LABELS, type SectionProps } from "./bot-settings.ts";

const { field } = BotChangesSchema;

/** When people of the team take over conversations. */
export function HandoffSettings({ draft, change }: SectionProps) {
  const numberInput = (name: "handoffWaitSeconds" | "handoffAfterDeclined" | "handoffAfterBadlyRated") => (
    <TextField
      label={LABELS[name]}
      type="number"
      {...limitsOf(field[name])}
      required
      value={draft[name]}
      onChange={({ target }) => change(name, Math.trunc(target.valueAsNumber || 0))}
    />
  );
  return (
    <section className="panel" aria-labelledby="handoff">
      <h2 id="handoff">{t("A person takes over")}</h2>
      <Checkbox
        label={LABELS.handoffEnabled}
        isChecked={draft.handoffEnabled}
        onChange={(isChecked) => change("handoffEnabled", isChecked)}
      />
      {draft.handoffEnabled && (
        <>
          {numberInput("handoffWaitSeconds")}
          <TextArea
            label={LABELS.handoffHours}
            hint={t(
              "One range a line, such as mon-fri 09:00-17:30, in the bot’s time zone. Leave it empty if somebody is always there.",
            )}
            rows={3}
            dir="ltr"
            value={draft.handoffHours.join("\n")}
            onChange={({ target }) => change("handoffHours", target.value === "" ? [] : target.value.split("\n"))}
          />
          {numberInput("handoffAfterDeclined")}
          {numberInput("handoffAfterBadlyRated")}
        </>
      )}
    </section>
  );
}

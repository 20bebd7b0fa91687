import { formatRetention } from "../components/durations.ts";
import { SelectField } from "../components/field.tsx";
import { t } from "../i18n/t.tsx";

const DAY_MINUTES = 24 * 60;
const CHOICES = [DAY_MINUTES / 2, DAY_MINUTES, 7 * DAY_MINUTES, 30 * DAY_MINUTES];

type ScheduleFieldProps = { minutes: number; onChange: (minutes: number) => void };

/** Chooses the time between two refreshes. Offers also another one that was set with the command line. */
export function ScheduleField({ minutes, onChange }: ScheduleFieldProps) {
  const choices = [...new Set(minutes === 0 ? CHOICES : [...CHOICES, minutes])].sort((a, b) => a - b);
  return (
    <SelectField
      label={t("Time between two refreshes")}
      options={[["0", t("Only by hand")], ...choices.map((each) => [String(each), formatRetention(each)] as const)]}
      value={String(minutes)}
      onChange={(value) => onChange(Number(value))}
    />
  );
}

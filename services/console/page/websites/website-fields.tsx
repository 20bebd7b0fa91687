import { PutSiteRequestSchema, type Site } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { TextArea, TextField } from "../components/field.tsx";
import { t } from "../i18n/t.tsx";
import { ScheduleField } from "./schedule-field.tsx";

/** The settings of a website in a form. `include` and `exclude` have one pattern in each line. */
export type Draft = { include: string; exclude: string; maxPages: string; refreshMinutes: number };

export const NEW_WEBSITE: Draft = { include: "", exclude: "", maxPages: "500", refreshMinutes: 24 * 60 };

export function draftOf({ include, exclude, maxPages, refreshMinutes }: Site): Draft {
  return { include: include.join("\n"), exclude: exclude.join("\n"), maxPages: String(maxPages), refreshMinutes };
}

/** Returns the settings as PutSite takes them. */
export function settingsOf({ include, exclude, maxPages, refreshMinutes }: Draft) {
  return { include: toLines(include), exclude: toLines(exclude), maxPages: Number(maxPages), refreshMinutes };
}

function toLines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

type WebsiteFieldsProps = {
  draft: Draft;
  onChange: (draft: Draft) => void;
  /** A page alone has no other pages to select. */
  isSinglePage?: boolean;
};

export function WebsiteFields({ draft, onChange, isSinglePage = false }: WebsiteFieldsProps) {
  const change = (changed: Partial<Draft>) => onChange({ ...draft, ...changed });
  const { min, max } = limitsOf(PutSiteRequestSchema.field.maxPages);
  return (
    <>
      <ScheduleField minutes={draft.refreshMinutes} onChange={(refreshMinutes) => change({ refreshMinutes })} />
      {!isSinglePage && (
        <>
          <TextArea
            label={t("Only pages with these paths")}
            hint={t("One in each line, such as /shop. Empty for all pages.")}
            rows={2}
            dir="ltr"
            value={draft.include}
            onChange={({ target }) => change({ include: target.value })}
          />
          <TextArea
            label={t("No pages with these paths")}
            rows={2}
            dir="ltr"
            value={draft.exclude}
            onChange={({ target }) => change({ exclude: target.value })}
          />
          <TextField
            label={t("Maximum number of pages")}
            type="number"
            required
            min={Math.max(1, min)}
            max={max}
            value={draft.maxPages}
            onChange={({ target }) => change({ maxPages: target.value })}
          />
        </>
      )}
    </>
  );
}

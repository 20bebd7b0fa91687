import {
  type Bot,
  BotAdminService,
  EraseVisitorRequestSchema,
  ListSessionsRequestSchema,
} from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { Link } from "@tanstack/react-router";
import { type SubmitEvent, useEffect, useRef } from "react";
import type { ConversationFilters } from "../api/conversations.ts";
import { useMayCall } from "../api/session.ts";
import { toBotOptions } from "../components/bot-names.ts";
import { SelectField, TextField } from "../components/field.tsx";
import { t } from "../i18n/t.tsx";

type FiltersProps = {
  filters: ConversationFilters;
  bots: readonly Bot[];
  onChange: (filters: ConversationFilters) => void;
};

/** Applies all fields on submit, when a select field changes, and when a date field loses the focus. */
export function Filters({ filters, bots, onChange }: FiltersProps) {
  const mayListBots = useMayCall(BotAdminService.method.listBots);
  const form = useRef<HTMLFormElement>(null);
  // Updates the fields in place, because a new `key` would mount the form again and lose the focus.
  useEffect(() => {
    if (form.current) showFilters(form.current, filters);
  }, [filters]);
  // Does not validate the form: validation would move the focus back to an incomplete date.
  const apply = () => {
    const values = [...new FormData(form.current ?? undefined)].map(
      ([name, value]) => [name, String(value).trim()] as const,
    );
    onChange(Object.fromEntries(values.filter(([, value]) => value !== "")));
  };
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    apply();
  };
  // The URL may name a bot that is not in `bots`, for example because `bots` is still loading.
  const { bot = "" } = filters;
  const isUnlisted = bot !== "" && !bots.some(({ slug }) => slug === bot);
  return (
    <search>
      <form ref={form} className="panel filters" aria-label={t("Filters")} noValidate onSubmit={submit}>
        <div className="inline-form">
          <TextField
            label={t("Search")}
            name="q"
            type="search"
            maxLength={limitsOf(ListSessionsRequestSchema.field.text).max}
            placeholder={t("A word of the conversation")}
            defaultValue={filters.q ?? ""}
          />
          <button type="submit" className="button primary">
            {t("Search")}
          </button>
        </div>
        <div className="columns narrow">
          {mayListBots && (
            <SelectField
              label={t("Bot")}
              name="bot"
              options={[["", t("All bots")], ...toBotOptions(bots), ...(isUnlisted ? [[bot, bot] as const] : [])]}
              defaultValue={bot}
              onChange={apply}
            />
          )}
          <SelectField
            label={t("Visitor's rating")}
            name="rating"
            options={[
              ["", t("Any")],
              ["up", t("Good")],
              ["down", t("Bad")],
            ]}
            defaultValue={filters.rating ?? ""}
            onChange={apply}
          />
          <SelectField
            label={t("Owners' review")}
            name="review"
            options={[
              ["", t("Any")],
              ["good", t("Good")],
              ["bad", t("Bad")],
            ]}
            defaultValue={filters.review ?? ""}
            onChange={apply}
          />
          <SelectField
            label={t("Where")}
            name="source"
            options={[
              ["", t("Anywhere")],
              ["widget", t("On a site")],
              ["playground", t("In the playground")],
            ]}
            defaultValue={filters.source ?? ""}
            onChange={apply}
          />
          <TextField
            label={t("Visitor")}
            name="visitor"
            maxLength={limitsOf(EraseVisitorRequestSchema.field.visitorId).max}
            defaultValue={filters.visitor ?? ""}
          />
          <TextField label={t("From")} name="from" type="date" defaultValue={filters.from ?? ""} onBlur={apply} />
          <TextField label={t("To")} name="to" type="date" defaultValue={filters.to ?? ""} onBlur={apply} />
        </div>
        {Object.keys(filters).length > 0 && (
          <Link
            to="/conversations"
            className="clear-filters"
            // Moves the focus to the first field, because the link disappears.
            onClick={() => form.current?.querySelector("input")?.focus()}
          >
            {t("Remove all filters")}
          </Link>
        )}
      </form>
    </search>
  );
}

/** Writes the URL's filters into the fields, because a link or the browser's history may have changed the URL. */
function showFilters(form: HTMLFormElement, filters: ConversationFilters): void {
  for (const field of form.querySelectorAll<HTMLInputElement | HTMLSelectElement>("input, select")) {
    const value = filters[field.name as keyof ConversationFilters] ?? "";
    if (field.value !== value) field.value = value;
  }
}

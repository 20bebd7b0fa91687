import type { Bot } from "@parley/rpc/conversation";
import { Link } from "@tanstack/react-router";
import { type SubmitEvent, useRef } from "react";
import type { ConversationFilters } from "../api/conversations.ts";
import { SelectField, TextField } from "../components/field.tsx";

type FiltersProps = {
  filters: ConversationFilters;
  bots: readonly Bot[];
  onChange: (filters: ConversationFilters) => void;
};

/** The filters of the list. Selections apply at once, texts with the button or the Enter key. */
export function Filters({ filters, bots, onChange }: FiltersProps) {
  const form = useRef<HTMLFormElement>(null);
  const apply = () => form.current?.requestSubmit();
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const values = [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value).trim()] as const);
    onChange(Object.fromEntries(values.filter(([, value]) => value !== "")));
  };
  const names = bots.map(({ slug, display }) => [slug, display?.name || slug] as const);
  // A bot in the address that is not in the list yet.
  const { bot = "" } = filters;
  const isUnlisted = bot !== "" && !bots.some(({ slug }) => slug === bot);
  return (
    <search>
      <form ref={form} className="panel filters" aria-label="Filters" onSubmit={submit}>
        <div className="inline-form">
          <TextField
            label="Search"
            name="q"
            type="search"
            maxLength={200}
            placeholder="A word that was said"
            defaultValue={filters.q ?? ""}
          />
          <button type="submit" className="button primary">
            Search
          </button>
        </div>
        <div className="columns narrow">
          <SelectField
            label="Bot"
            name="bot"
            options={[["", "All bots"], ...names, ...(isUnlisted ? [[bot, bot] as const] : [])]}
            defaultValue={bot}
            onChange={apply}
          />
          <SelectField
            label="Visitor's rating"
            name="rating"
            options={[
              ["", "Any"],
              ["up", "Good"],
              ["down", "Bad"],
            ]}
            defaultValue={filters.rating ?? ""}
            onChange={apply}
          />
          <SelectField
            label="Your review"
            name="review"
            options={[
              ["", "Any"],
              ["good", "Good"],
              ["bad", "Bad"],
            ]}
            defaultValue={filters.review ?? ""}
            onChange={apply}
          />
          <SelectField
            label="Where"
            name="source"
            options={[
              ["", "Anywhere"],
              ["widget", "On a site"],
              ["playground", "In the playground"],
            ]}
            defaultValue={filters.source ?? ""}
            onChange={apply}
          />
          <TextField label="Visitor" name="visitor" maxLength={1_024} defaultValue={filters.visitor ?? ""} />
          <TextField label="From" name="from" type="date" defaultValue={filters.from ?? ""} onChange={apply} />
          <TextField label="To" name="to" type="date" defaultValue={filters.to ?? ""} onChange={apply} />
        </div>
        {Object.keys(filters).length > 0 && (
          <Link to="/conversations" className="clear-filters">
            Remove all filters
          </Link>
        )}
      </form>
    </search>
  );
}

import type { Bot, BotUsage } from "@parley/rpc/conversation";
import type { MonthlyUsage } from "@parley/rpc/quota";
import { useState } from "react";
import { SelectField } from "../components/field.tsx";
import { formatNumber } from "../i18n/numbers.ts";
import { t } from "../i18n/t.tsx";
import { splitByBot } from "./by-bot.ts";
import { formatMonth } from "./format-month.ts";

type ByBotProps = { months: readonly MonthlyUsage[]; usage: readonly BotUsage[]; bots: readonly Bot[] };

export function UsageByBot({ months, usage, bots }: ByBotProps) {
  const [chosen, setChosen] = useState(months[0]?.month ?? "");
  const month = months.find((each) => each.month === chosen) ?? months[0];
  if (month === undefined) return null;
  const entries = splitByBot(month, usage, bots);
  return (
    <section className="panel" aria-labelledby="by-bot">
      <div className="panel-header">
        <h2 id="by-bot">{t("By bot")}</h2>
        <SelectField
          label={t("Month")}
          options={months.map((each) => [each.month, formatMonth(each.month)])}
          value={month.month}
          onChange={setChosen}
        />
      </div>
      {entries.length === 0 ? (
        <p className="hint">{t("No bot answered in this month.")}</p>
      ) : (
        <table className="table">
          <thead>
            <tr>
              <th scope="col">{t("Bot")}</th>
              <th scope="col" className="number">
                {t("Messages")}
              </th>
            </tr>
          </thead>
          <tbody>
            {entries.map(({ slug, name, messages }) => (
              <tr key={slug}>
                <th scope="row">
                  {name}
                  {slug !== "" && name !== slug && <small className="muted"> {slug}</small>}
                </th>
                <td className="number">{formatNumber(messages)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

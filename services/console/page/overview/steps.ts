import { t } from "../i18n/t.tsx";

export type Step = {
  name: "bot" | "knowledge" | "try" | "key" | "embed";
  title: string;
  /** What to do, and when the step counts as done. */
  hint: string;
  isDone: boolean;
};

type Workspace = {
  bots: readonly unknown[];
  keys: readonly { revokedAt: string; lastUsedOn: string }[];
  /** The number of documents of all bots. */
  documents: number;
  /** Whether somebody has talked to a bot in the console. */
  isTried: boolean;
};

/** Returns the steps from a new workspace to a bot on a site. Each is read from what the workspace has. */
export function listSteps({ bots, keys, documents, isTried }: Workspace): Step[] {
  return [
    {
      name: "bot",
      title: t("Create a bot"),
      hint: t("Give it a name. Its looks and instructions can follow later."),
      isDone: bots.length > 0,
    },
    {
      name: "knowledge",
      title: t("Add knowledge"),
      hint: t("Upload documents, or add the address of a page. The bot answers from them."),
      isDone: documents > 0,
    },
    {
      name: "try",
      title: t("Try the bot"),
      hint: t("Ask it what your visitors ask, in the playground or beside its settings."),
      isDone: isTried,
    },
    {
      name: "key",
      title: t("Create a key"),
      hint: t("A key lets the bot appear on the domains of your site."),
      // A used key was there, even if it is revoked.
      isDone: keys.some(({ revokedAt, lastUsedOn }) => revokedAt === "" || lastUsedOn !== ""),
    },
    {
      name: "embed",
      title: t("Put the bot on your site"),
      hint: t(
        "Choose Embed beside the key, and paste the HTML into your page. The step is done once a browser has loaded the chat there.",
      ),
      isDone: keys.some(({ lastUsedOn }) => lastUsedOn !== ""),
    },
  ];
}

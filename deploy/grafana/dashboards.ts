import { CHAT } from "./chat.ts";
import type { Dashboard } from "./panel.ts";
import { QUOTA } from "./quota.ts";
import { SERVICE } from "./service.ts";

/** Every dashboard, by the name of its JSON file without `.json`. */
export const DASHBOARDS: Readonly<Record<string, Dashboard>> = { service: SERVICE, chat: CHAT, quota: QUOTA };

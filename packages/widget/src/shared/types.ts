// The interface between launcher and panel. After an upgrade, a page that was already open runs an old launcher with a
// new panel. Therefore members are only added here, never changed or removed, and the panel must work without the
// members of PanelContext and BotConfig that are newer than the launcher.

import type { HashedFile } from "./hashed-file.ts";

export type { HashedFile };

/** The bot's display configuration, as the service sends it. */
export interface BotConfig {
  readonly name: string;
  readonly welcome_message: string;
  readonly logo_url: string;
  readonly primary_color: string;
  readonly position: string;
  readonly theme_mode: string;
  readonly font_family: string;
  readonly border_radius: number;
  readonly quick_replies: readonly string[];
  readonly custom_css_vars: Readonly<Record<string, string>>;
  /** The bot's own texts for visitors who see the widget in another language. Unset if it has none. */
  readonly texts?: Readonly<Record<string, BotTexts>>;
  /** Whether visitors may ask for a person. */
  readonly handoff?: boolean;
}

/** The texts of a bot in one language. Unset ones do not replace anything. */
export interface BotTexts {
  readonly welcome_message?: string;
  readonly quick_replies?: readonly string[];
  /** Texts of the widget, by the keys of ENGLISH in src/english.ts. */
  readonly words?: Readonly<Record<string, string>>;
}

/** The visitor according to the page. */
export interface Visitor {
  /** Becomes text. */
  readonly visitorId?: string | number | null | undefined;
  /** A token that the site's backend has signed, or a function that returns one. */
  readonly visitorToken?: string | (() => string | Promise<string>) | null | undefined;
  /** A string is parsed as JSON. */
  readonly metadata?: Readonly<Record<string, unknown>> | string | null | undefined;
}

/** The visitor whom each message names, with the values as the page gave them. The launcher and the panel change it. */
export interface Identity {
  visitorId?: unknown;
  visitorToken?: unknown;
  metadata?: unknown;
  /** When the page set the id, in milliseconds since 1970. A later reset in another tab removes the id. */
  since?: number;
}

/** The events of `Parley.on` with their details. */
export interface WidgetEvents {
  ready: Record<string, never>;
  open: Record<string, never>;
  close: Record<string, never>;
  message: { role: "user" | "assistant"; text: string };
  error: { code: string };
  /** A new session has started. */
  new: Record<string, never>;
  /** The visitor has returned to the session before `new`. */
  undo: Record<string, never>;
  /** The visitor continues a past conversation. */
  continue: Record<string, never>;
  /** The service has sent nothing for 3 s: the model is thinking, or a tool is running. At most once a reply. */
  thinking: Record<string, never>;
  /** The number of replies that the visitor has not seen has changed. */
  unread: { count: number };
  /** The visitor has copied a reply, as this text. */
  copy: { text: string };
  /** The service has stored the visitor's rating of a reply with this text. */
  rate: { rating: "up" | "down" | ""; reason: string; text: string };
}

export interface PanelContext {
  /** The service's URL, ending in a slash. */
  readonly base: string;
  readonly publicKey: string;
  /** The preferred language, a BCP 47 tag in lower case. */
  readonly lang: string;
  /** `data-theme`, which overrides the bot's theme. Unset by older launchers, which override it in `bot`. */
  readonly theme?: string | undefined;
  readonly bot: BotConfig;
  /** The element in the shadow root that contains the whole widget. */
  readonly root: HTMLElement;
  /** The launcher's button. */
  readonly button: HTMLButtonElement;
  readonly visitor: Identity;
  /** Loads a module of the widget. Unset by older launchers. */
  readonly load?: (file: HashedFile) => Promise<unknown>;
  /** Aborted when the widget is destroyed. */
  readonly signal: AbortSignal;
  emit<Name extends keyof WidgetEvents>(name: Name, detail: WidgetEvents[Name]): void;
  /** Asks the launcher to close the panel. */
  close(): void;
}

/** The panel's functions that the launcher calls. */
export interface Panel {
  /** Shows the panel. If `focus` is true, moves the keyboard focus into it. */
  show(focus: boolean): void;
  hide(): void;
  send(text: string): void;
  /** Called after the page has changed the visitor. */
  identified(): void;
  /** Forgets the visitor's session. */
  reset(): void;
  /** Called after the widget was removed from the page and inserted again, which resets scroll positions. */
  restored(): void;
}

/** The exports of the panel's module. */
export interface PanelModule {
  mount(context: PanelContext): Promise<Panel>;
}

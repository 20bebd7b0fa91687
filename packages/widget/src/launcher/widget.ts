import type { Panel, PanelContext } from "../shared/types.ts";
import type { ParleyApi } from "./api.ts";
import { fetchConfig } from "./fetch-config.ts";
import { createHost, type Host } from "./host.ts";
import { loadPanel } from "./load-panel.ts";
import type { Options } from "./options.ts";
import { stay } from "./stay.ts";

/** Starts the widget: fetches the configuration, shows the launcher, and the panel when it is asked for. */
export function startWidget(options: Options): ParleyApi {
  const { base, publicKey } = options;
  const life = new AbortController();
  const { signal } = life;
  const visitor = { ...options.visitor };
  let context: PanelContext | undefined;
  let host: Host | undefined;
  let panel: Promise<Panel> | undefined;
  let mounted: Panel | undefined;
  let opened = options.open;
  let opener: HTMLElement | null = null;

  const emit: PanelContext["emit"] = (name, detail) =>
    void document.dispatchEvent(new CustomEvent(`parley:${name}`, { detail }));

  const showPanel = async (ready: PanelContext, { button, failed }: Host) => {
    failed(false);
    button.ariaBusy = "true";
    try {
      panel ??= loadPanel(options).then((module) => module.mount(ready));
      mounted = await panel;
      if (opened) {
        button.ariaExpanded = "true";
        mounted.show(opener !== null);
        emit("open", {});
      }
    } catch (error) {
      console.warn("Parley:", error);
      panel = undefined;
      opened = false;
      failed(true);
    }
    button.ariaBusy = null;
  };

  const api: ParleyApi = {
    publicKey,
    open() {
      if (!opened || !panel) {
        opened = true;
        opener = document.activeElement as HTMLElement | null;
        if (context && host) {
          void showPanel(context, host);
        }
      }
    },
    close() {
      const wasFocused = host?.element.shadowRoot?.activeElement;
      opened = false;
      if (host?.button.ariaExpanded === "true") {
        host.button.ariaExpanded = "false";
        mounted?.hide();
        emit("close", {});
        if (wasFocused) {
          (opener?.isConnected && opener !== host.element && opener !== document.body ? opener : host.button).focus();
        }
      }
    },
    toggle: () => (opened ? api.close() : api.open()),
    send(text) {
      api.open();
      // The panel may still be on its way, or the configuration before it.
      void ready
        .then(() => panel)
        .then(
          (it) => it?.send(text),
          () => undefined,
        );
    },
    on(name, listener) {
      const ending = new AbortController();
      document.addEventListener(`parley:${name}`, (event) => listener((event as CustomEvent).detail), {
        signal: AbortSignal.any([signal, ending.signal]),
      });
      return () => ending.abort();
    },
    identify: (who) => void Object.assign(visitor, who),
    destroy() {
      life.abort();
      if (window.Parley === api) {
        delete window.Parley;
      }
    },
  };

  const boot = async () => {
    const bot = await fetchConfig(base, publicKey, signal);
    if (document.readyState === "loading") {
      await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve));
    }
    signal.throwIfAborted();
    host = createHost(bot, options, api.toggle);
    context = {
      base,
      publicKey,
      lang: options.lang,
      bot: { ...bot, theme_mode: options.theme ?? bot.theme_mode },
      root: host.root,
      button: host.button,
      visitor,
      signal,
      emit,
      close: api.close,
    };
    stay(host.element, signal, () => mounted?.restored());
    emit("ready", {});
    if (opened) {
      void showPanel(context, host);
    }
  };
  const ready = boot().catch(({ message }: Error) => {
    if (!signal.aborted) {
      console.warn(`Parley: ${message}`);
      emit("error", { code: message });
    }
  });

  // The same for pages that would rather write attributes: data-parley="open", data-parley-send="What do you sell?"
  document.addEventListener(
    "click",
    (event) => {
      const wish = (event.target as Element).closest<HTMLElement>("[data-parley],[data-parley-send]")?.dataset;
      if (wish?.parleySend) {
        api.send(wish.parleySend);
      } else if (/^(open|close|toggle)$/.test(wish?.parley ?? "")) {
        api[wish?.parley as "open"]();
      }
    },
    { signal },
  );
  return api;
}

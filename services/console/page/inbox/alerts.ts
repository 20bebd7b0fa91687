import { useNavigate } from "@tanstack/react-router";
import { useEffect, useSyncExternalStore } from "react";
import { useSession } from "../api/session.ts";
import { t } from "../i18n/t.tsx";
import { findNews, type News, type NewsKind } from "./find-news.ts";
import { followHandoffs, readHandoffs, subscribeToHandoffs } from "./handoffs-store.ts";

const STORAGE_KEY = "parley-inbox-alerts";
const TONES_HZ = [660, 880];
const TONE_SECONDS = 0.14;
const VOLUME = 0.15;

const listeners = new Set<() => void>();
let audio: AudioContext | undefined;

const areOn = () => localStorage.getItem(STORAGE_KEY) === "on" && Notification.permission === "granted";

export function useAreAlertsOn(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, areOn);
}

/**
 * Returns whether the alerts are on: the browser may refuse them or, as on an iPhone, have none. Must be called for a click, or the browser does
 * not ask the user.
 */
export async function turnOnAlerts(): Promise<boolean> {
  // A page may make sounds only after the user has used it.
  audio ??= new AudioContext();
  const isGranted = (await globalThis.Notification?.requestPermission()) === "granted";
  if (isGranted) localStorage.setItem(STORAGE_KEY, "on");
  for (const listener of listeners) listener();
  return isGranted;
}

export function turnOffAlerts(): void {
  localStorage.removeItem(STORAGE_KEY);
  for (const listener of listeners) listener();
}

/** While the alerts are on, follows the list on all screens, and reports what is new by a sound and a notification of the desktop. */
export function useAlerts(): void {
  const isOn = useAreAlertsOn();
  const { agent_id: agentId } = useSession();
  const navigate = useNavigate();
  useEffect(() => {
    if (!isOn) return undefined;
    // Without a reload, which would lose what the agent is typing.
    const open = (id: string) => void navigate({ to: "/inbox/$id", params: { id } });
    let before = readHandoffs().conversations;
    const unsubscribe = subscribeToHandoffs(() => {
      const { conversations } = readHandoffs();
      const news = findNews(before, conversations, agentId);
      before = conversations ?? before;
      if (news.length > 0) playSound();
      if (document.hidden || !document.hasFocus()) for (const each of news) notify(each, open);
    });
    const unfollow = followHandoffs();
    return () => {
      unsubscribe();
      unfollow();
    };
  }, [isOn, agentId, navigate]);
}

const TITLES: Readonly<Record<NewsKind, string>> = {
  waiting: t("A visitor waits for a person"),
  left: t("A visitor has left a message"),
  handed: t("A colleague has handed you a conversation"),
  written: t("A visitor has written"),
};

function notify({ kind, conversation: { id, excerpt, contact } }: News, open: (id: string) => void): void {
  try {
    // With the same tag, the browser replaces the notification of another window of the console.
    const notification = new Notification(TITLES[kind], {
      body: (kind === "left" && contact?.excerpt) || excerpt,
      tag: `parley ${id}`,
    });
    notification.onclick = () => {
      window.focus();
      open(id);
    };
  } catch {
    // Chromium on Android throws: it shows only notifications of a service worker. The sound is left.
  }
}

function playSound(): void {
  audio ??= new AudioContext();
  void audio.resume().catch(() => undefined);
  const gain = new GainNode(audio, { gain: VOLUME });
  gain.connect(audio.destination);
  for (const [index, frequency] of TONES_HZ.entries()) {
    const tone = new OscillatorNode(audio, { frequency });
    tone.connect(gain);
    tone.start(audio.currentTime + index * TONE_SECONDS);
    tone.stop(audio.currentTime + (index + 1) * TONE_SECONDS);
  }
}

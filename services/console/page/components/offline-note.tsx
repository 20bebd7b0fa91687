import { onlineManager } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { t } from "../i18n/t.tsx";
import { Icon } from "./icon.tsx";

const subscribe = (listener: () => void) => onlineManager.subscribe(listener);
const isOnline = () => onlineManager.isOnline();

/** While the browser is offline, says so. Until then, TanStack Query holds requests back, and then sends them. */
export function OfflineNote() {
  const isShown = !useSyncExternalStore(subscribe, isOnline);
  return (
    <div role="status">
      {isShown && (
        <div className="notice error">
          <Icon name="alert" />
          <p>{t("You are offline. What you save is sent when the connection is back. Keep this page open.")}</p>
        </div>
      )}
    </div>
  );
}

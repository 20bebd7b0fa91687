import { useAnnounce } from "../components/announcements.tsx";
import { t } from "../i18n/t.tsx";
import { turnOffAlerts, turnOnAlerts, useAreAlertsOn } from "./alerts.ts";

/** Turns notifications of the desktop and a sound on and off, in this browser. */
export function AlertsButton() {
  const announce = useAnnounce();
  const isOn = useAreAlertsOn();
  const toggle = async () => {
    if (isOn) turnOffAlerts();
    else if (!(await turnOnAlerts()))
      announce(t("The browser blocks notifications of this page. Allow them in its settings."), { isError: true });
  };
  return (
    <button type="button" className="button" onClick={() => void toggle()}>
      {isOn ? t("Turn off notifications") : t("Turn on notifications")}
    </button>
  );
}

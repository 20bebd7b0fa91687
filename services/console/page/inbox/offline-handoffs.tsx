import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";

export function OfflineHandoffs() {
  return (
    <div className="notice error" role="alert">
      <Icon name="alert" />
      <p>{t("The connection is lost. What is new appears as soon as it is back.")}</p>
    </div>
  );
}

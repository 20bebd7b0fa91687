import { CopyButton } from "../components/copy-button.tsx";
import { Modal } from "../components/dialogs.tsx";
import { t } from "../i18n/t.tsx";

/** Shows a secret once. Closed if `secret` is empty. */
export function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Modal
      title={t("Copy the secret now")}
      description={t(
        "Parley does not show it again. Your server verifies the signature of each event with it, with a library of Standard Webhooks.",
      )}
      isOpen={secret !== ""}
      onOpenChange={(isOpen) => !isOpen && onClose()}
    >
      <div className="snippet">
        <pre>
          <code>{secret}</code>
        </pre>
        <CopyButton text={secret} label={t("Copy the secret")} />
      </div>
    </Modal>
  );
}

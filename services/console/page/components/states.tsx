import type { ReactNode } from "react";
import { errorText, isCodeMissing } from "../api/error-text.ts";
import { t } from "../i18n/t.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { PageHeader } from "./page-header.tsx";

export function Loading({ lines = 4, label = t("Loading") }: { lines?: number; label?: string }) {
  return (
    <div className="loading" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} className="skeleton" />
      ))}
    </div>
  );
}

export function ScreenLoading() {
  return (
    <div className="screen">
      <Loading lines={6} />
    </div>
  );
}

export function Failure({ error, onRetry }: { error: unknown; onRetry?: (() => unknown) | undefined }) {
  return (
    <div className="notice error" role="alert">
      <Icon name="alert" />
      <div>
        <p>{errorText(error)}</p>
        {onRetry && (
          <button type="button" className="button small" onClick={() => void onRetry()}>
            {t("Try again")}
          </button>
        )}
        {isCodeMissing(error) && (
          <button type="button" className="button small" onClick={() => location.reload()}>
            {t("Reload the page")}
          </button>
        )}
      </div>
    </div>
  );
}

export function ScreenError({ error }: { error: unknown }) {
  return (
    <div className="screen">
      <PageHeader title={t("This page could not be shown")} />
      <Failure error={error} onRetry={isCodeMissing(error) ? undefined : () => location.reload()} />
    </div>
  );
}

type EmptyProps = { icon: IconName; title: string; children: ReactNode; action?: ReactNode };

/** Shows a title and a hint in place of an empty list or screen. */
export function Empty({ icon, title, children, action }: EmptyProps) {
  return (
    <div className="empty">
      <span className="empty-icon">
        <Icon name={icon} />
      </span>
      <h2>{title}</h2>
      <p>{children}</p>
      {action}
    </div>
  );
}

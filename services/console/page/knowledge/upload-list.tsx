import { Icon } from "../components/icon.tsx";
import type { Upload } from "./use-uploads.ts";

export function UploadList({ uploads, onClear }: { uploads: readonly Upload[]; onClear: () => void }) {
  return (
    <section className="panel" aria-labelledby="uploads">
      <div className="panel-header">
        <h2 id="uploads">Uploads</h2>
        <button type="button" className="button small" onClick={onClear}>
          Clear finished
        </button>
      </div>
      <ul className="rows">
        {uploads.map(({ id, name, sentShare, state, problem }) => (
          <li key={id} className="row upload">
            <span className={problem ? "row-icon error" : "row-icon"}>
              <Icon name={problem ? "alert" : state === "done" ? "check" : "file"} />
            </span>
            <span className="row-text">
              <strong>{name}</strong>
              {problem && <small className="error-text">{problem}</small>}
              {!problem && state === "done" && <small>Added</small>}
              {state === "waiting" && <small>Waiting</small>}
              {/* After the last byte is sent, the bar is indeterminate until the service responds. */}
              {state === "sending" && (
                <progress aria-label={`Upload of ${name}`} value={sentShare < 1 ? sentShare : undefined} max={1} />
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

// A modal dialog. The browser's dialog element keeps the focus inside and closes on Escape.

import { useEffect, useId, useRef, type ReactNode } from "react";

export function Dialog({ title, close, children }: { title: string; close: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const element = dialog.current;
    if (element !== null && !element.open) element.showModal();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onClose={close} onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <div className="dialog-body">
        <div className="dialog-head">
          <h2 id={titleId}>{title}</h2>
          <button type="button" className="quiet" aria-label="Close" onClick={() => dialog.current?.close()}>
            ✕
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}

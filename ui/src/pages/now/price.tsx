// The price of a GPU-hour. The server does not know it, so the user sets it and the page shows the assumption.

import { useState } from "react";
import { usePrice } from "../../hooks";
import { choose } from "../../settings";

export function PriceNote() {
  const price = usePrice();
  const [editing, setEditing] = useState(false);
  const [text, setText] = useState("");
  if (!editing) {
    return (
      <p className="price-note">
        Costs assume {price.sign}
        {price.perGpuHour.toFixed(2)} per GPU-hour.{" "}
        <button
          type="button"
          className="inline"
          onClick={() => {
            setText(price.perGpuHour.toString());
            setEditing(true);
          }}
        >
          Change price
        </button>
      </p>
    );
  }
  return (
    <form
      className="price-note"
      onSubmit={(event) => {
        event.preventDefault();
        const value = Number(text.replace(",", "."));
        if (Number.isFinite(value) && value >= 0) choose({ price: { ...price, perGpuHour: value } });
        setEditing(false);
      }}
    >
      <label>
        Price of a GPU-hour, {price.sign}{" "}
        <input className="short" inputMode="decimal" autoFocus value={text} onChange={(event) => setText(event.target.value)} />
      </label>{" "}
      <button type="submit">Save</button>
    </form>
  );
}

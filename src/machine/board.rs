//! The board: what its firmware says that it is. Serial numbers are left out, for results are published.

use serde::{Deserialize, Serialize};

use super::Known;
use super::source::{Platform, Source, into_known};

const DMI: &str = "sys/class/dmi/id";
const DEVICE_TREE: &str = "proc/device-tree";

/// What the firmware says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Who made the machine (DMI).
    pub vendor: Known<String>,
    /// The machine's name (DMI).
    pub product: Known<String>,
    /// The mainboard's name (DMI).
    pub board: Known<String>,
    /// The firmware's version (DMI).
    pub bios: Known<String>,
    /// The firmware's date (DMI).
    pub bios_date: Known<String>,
    /// The machine's name (device tree), e.g. `NVIDIA Jetson AGX Orin Developer Kit`.
    pub model: Known<String>,
    /// What it is compatible with (device tree), the most exact name first, e.g. `nvidia,p3701-0005`.
    pub compatible: Known<Vec<String>>,
}

impl Board {
    /// Reads it.
    #[must_use]
    pub fn read(source: &Source) -> Self {
        if source.platform != Platform::Linux {
            return Self::unknown("only read on Linux");
        }
        let dmi = |name: &str| source.known(&format!("{DMI}/{name}"));
        Self {
            vendor: dmi("sys_vendor"),
            product: dmi("product_name"),
            board: dmi("board_name"),
            bios: dmi("bios_version"),
            bios_date: dmi("bios_date"),
            model: source.known(&format!("{DEVICE_TREE}/model")),
            compatible: into_known(compatible(source)),
        }
    }

    fn unknown(reason: &str) -> Self {
        let none = || Known::unknown(reason);
        Self {
            vendor: none(),
            product: none(),
            board: none(),
            bios: none(),
            bios_date: none(),
            model: none(),
            compatible: Known::unknown(reason),
        }
    }

    /// Its name for people.
    #[must_use]
    pub fn name(&self) -> Known<String> {
        let model = self.model.get().cloned();
        let product = || {
            let vendor = self.vendor.get().map_or("", String::as_str);
            let product = self.product.get()?;
            Some(match product.starts_with(vendor) {
                true => product.clone(),
                false => format!("{vendor} {product}"),
            })
        };
        Known::or_reason(
            model.or_else(product),
            self.product.reason().unwrap_or_default(),
        )
    }
}

/// Names separated by zero bytes.
pub(super) fn compatible(source: &Source) -> Result<Vec<String>, String> {
    let text = source.text(&format!("{DEVICE_TREE}/compatible"))?;
    Ok(text.split('\0').map(str::to_owned).collect())
}

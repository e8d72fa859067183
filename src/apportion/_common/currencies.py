"""Currencies as people write them for a unit, and the smallest amount of each that is paid."""

from typing import Final

# ISO 4217, as of 2026.
_CODES: Final = (
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF "
    "CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG "
    "HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA "
    "MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD "
    "RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX "
    "USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG"
)
_WHOLE: Final = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"
_THOUSANDTHS: Final = "BHD IQD JOD KWD LYD OMR TND"
_OTHER_NAMES: Final = "€ $ US$ £ euro euros dollar dollars"


def smallest_payment(unit: str | None) -> float | None:
    """0.01 where a unit is a currency, 1 or 0.001 where that has no cents or more digits; None for other units.

    Codes count in capitals only: "GEL" is a currency, "gel" is not.

    >>> smallest_payment("EUR"), smallest_payment("JPY"), smallest_payment("KWD"), smallest_payment("hours")
    (0.01, 1.0, 0.001, None)
    """
    sizes = {_CODES: 0.01, _OTHER_NAMES: 0.01, _WHOLE: 1.0, _THOUSANDTHS: 0.001}  # the last that names it holds
    found = [size for names, size in sizes.items() if unit in names.split()]
    return found[-1] if found else None

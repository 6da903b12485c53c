import pytest

from core.text.languages import UNKNOWN, language


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The council decided to close the bridge.", "English"),
        ("Der Stadtrat hat beschlossen, die Brücke zu schließen.", "German"),
        ("Le conseil a décidé de fermer le pont dans la ville.", "French"),
        ("El consejo decidió cerrar el puente por la noche.", "Spanish"),
        ("Il consiglio non ha deciso per la chiusura della strada.", "Italian"),
        ("O conselho não decidiu fechar a ponte com uma votação.", "Portuguese"),
        ("De raad heeft het niet besloten met een stemming.", "Dutch"),
        ("Rådet har inte beslutat att stänga och det är bra.", "Swedish"),
        ("Rada nie zdecydowała się na to, że jest w mieście.", "Polish"),
        ("لحجز موعد يمكن الاتصال بالرقم ٠٦٢٤٤٧١", "Arabic script"),
        ("市议会决定关闭大桥。", "Chinese"),
        ("議会は橋を閉鎖することを決めた。", "Japanese"),
        ("시의회는 다리를 폐쇄하기로 했다.", "Korean"),
        ("Совет решил закрыть мост.", "Cyrillic script"),
        ("12 : 7", UNKNOWN),
        ("", UNKNOWN),
        ("Ahrfelden Hallenbad", UNKNOWN),
    ],
)
def test_the_language_is_told_by_script_and_function_words(text: str, expected: str) -> None:
    assert language(text) == expected
